// A project that was handed in is built, in the sandbox, and its library is listed.
//
// Libraries are kept for commands that repeat one case, each under a digest of all that the build
// was made from, so it can only ever stand in for itself. Their folder belongs to this user and
// lies where no submission can write.
#include "base/digest.hpp"
#include "base/files.hpp"
#include "base/paths.hpp"
#include "base/text.hpp"
#include "emulate/compile_errors.hpp"
#include "grade/confinement.hpp"
#include "grade/snapshot.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <span>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace prenorm::harness {
namespace {

/// Of a library that a build hands out.
constexpr std::size_t most_library_bytes = 256u << 20;
constexpr std::size_t most_listing_bytes = 1u << 20;
constexpr std::size_t build_scratch = 2ull << 30;
constexpr double seconds_to_list = 20;
constexpr int compilers = 2;  // at a time

/// Configures and builds, and hands out the one library that exports a solution. Begins with
/// first_errors.
inline constexpr const char* build_project = R"sh(
exec 9>&3 3>&-
log=$TMPDIR/log
source=$1
root=$1/
# CUDA sources alone, one or those of a folder, are a project of their own.
if [ "$5" = sources ]; then
  source=$TMPDIR/project
  [ -d "$1" ] || root=$(dirname "$1")/
  mkdir "$source"
  {
    echo 'cmake_minimum_required(VERSION 3.25)
project(mine LANGUAGES CXX)
find_package(prenorm REQUIRED COMPONENTS CUDA)
prenorm_add_solution(mine'
    find "$1" -maxdepth 1 -type f -name '*.cu' -exec printf '[==[%s]==]\n' {} +
    echo ')'
  } >"$source/CMakeLists.txt"
fi
fail() {
  echo "$1" >&2
  first_errors "$root" "$log" >&2
  exit 1
}
touch "$TMPDIR/begun"
# The linker names each object, and each member of an archive, that it takes.
[ -z "$6" ] || export LDFLAGS="$LDFLAGS -Wl,--trace,--trace"
mkdir -p "$TMPDIR/build/.cmake/api/v1/query"
touch "$TMPDIR/build/.cmake/api/v1/query/codemodel-v2"  # CMake then says what its targets make
cmake -S "$source" -B "$TMPDIR/build" -DCMAKE_BUILD_TYPE=Release -Dprenorm_DIR="$2" \
  -DPRENORM_EMULATE="$4" >"$log" 2>&1 \
  </dev/null 9>&- || fail 'cmake could not configure it'
cmake --build "$TMPDIR/build" -j "$3" >"$log" 2>&1 </dev/null 9>&- || fail 'it does not compile'
mv "$log" "$TMPDIR/linked"
# Takes the one library of that list that exports a solution, if there is one.
take() {
  found=
  while IFS= read -r library; do
    nm -D --defined-only "$library" 2>"$log" | grep -qE ' prenorm_abi(@|$)' || continue
    [ -z "$found" ] || cmp -s "$found" "$library" || { echo 'builds several solution libraries, wanted one' >&2; exit 1; }
    found=$library
  done <"$1"
}
grep -ho '"path" : "[^"]*[.]so[^"]*"' "$TMPDIR"/build/.cmake/api/v1/reply/target-*.json 2>"$log" |
  cut -d'"' -f4 | while IFS= read -r library; do
  case $library in
    /*) printf '%s\n' "$library" ;;
    *) printf '%s/build/%s\n' "$TMPDIR" "$library" ;;
  esac
done >"$TMPDIR/made"
# What a project makes by commands. It may write beside its sources, too; what lay there before is
# not what it builds.
find "$TMPDIR/build" "$1" -type f '(' -name '*.so' -o -name '*.so.*' ')' \
  ! -path '*/CMakeFiles/*' '(' -path "$TMPDIR/build/*" -o -newer "$TMPDIR/begun" ')' >"$TMPDIR/built"
take "$TMPDIR/made"
[ -n "$found" ] || take "$TMPDIR/built"
[ -n "$found" ] || {
  [ "$5" = sources ] && device=kDLCUDA || device=kDLCPU
  echo "builds no library that exports prenorm_abi: are the lines PRENORM_SOLUTION($device) and PRENORM_EXPORT(problem, function) missing?" >&2
  exit 1
}
readelf -d "$found" 2>"$log" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$TMPDIR/needed"
own=$(awk -F/ 'NR == FNR { needed[$0]; next }
  { for (name in needed) if ($NF == name || index($NF, name ".") == 1) print name }' \
  "$TMPDIR/needed" "$TMPDIR/built" | head -n 1)
[ -z "$own" ] || {
  echo "needs $own, which it builds too, and only one library is taken: link it in (STATIC or OBJECT)" >&2
  exit 1
}
# What was compiled elsewhere and linked in is no import: "symbol file" of each one that the linker
# named, and "symbol" of the library's own table, where copies are that it was not told of.
kit=${2%share/cmake/prenorm}lib/prenorm/
if [ -n "$6" ]; then
  awk -v build="$TMPDIR/build/" -v kit="$kit" '
    /^\(\// && match($0, /\)[^)]*$/) { file = substr($0, 2, RSTART - 2); part = substr($0, RSTART + 1) }
    /^\/.*\.o$/ { file = $0; part = "" }
    file != "" && index(file, build) != 1 && index(file, kit) != 1 && !seen[file, part]++ {
      print file "\t" part
    }
    { file = "" }' "$TMPDIR/linked" >"$TMPDIR/foreign"
  cut -f1 "$TMPDIR/foreign" | sort -u >"$TMPDIR/files"
  while IFS= read -r file; do
    nm -A -g --defined-only "$file" 2>"$log"
  done <"$TMPDIR/files" | awk -F '\t' 'NR == FNR { taken[$2 == "" ? $1 : $1 ":" $2]; next }
    match($0, /:[0-9a-f]* [A-Za-z] /) && substr($0, 1, RSTART - 1) in taken {
      print substr($0, RSTART + RLENGTH) "\t" substr($0, 1, RSTART - 1)
    }' "$TMPDIR/foreign" - >"$TMPDIR/static"
  [ "$4" = ON ] || nm --defined-only "$found" 2>"$log" | awk '{ print $NF "\t" }' >>"$TMPDIR/static"
  awk '{ print $0 "\t" }' "$TMPDIR/files" >>"$TMPDIR/static"
  set -f  # patterns are no file names
  while IFS='	' read -r symbol file; do
    for pattern in $6; do
      # shellcheck disable=SC2254
      case ${symbol##*/} in
        $pattern)
          file=${file##*/}
          echo "has ${symbol##*/}${file:+ of $file} linked in, which the rubric forbids" >&2
          exit 3
          ;;
      esac
    done
  done <"$TMPDIR/static"
fi
printf '%020d' "$(stat -c %s "$found")" >&9
cat "$found" >&9
)sh";
constexpr int forbidden_is_linked = 3;  // its exit code

/// What a library takes from elsewhere, one name per line, by the program "$2".
constexpr const char* list_imports = R"sh(
"$2" "$1" >"$TMPDIR/list" || exit
printf '%020d' "$(wc -c <"$TMPDIR/list")" >&3
cat "$TMPDIR/list" >&3
)sh";

// ---- Kept builds

constexpr std::size_t most_kept = 16;

/// $XDG_CACHE_HOME/prenorm/builds, made if it is missing; empty unless it is this user's alone.
fs::path folder_of_builds() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  fs::path base;
  if (cache != nullptr && fs::path(cache).is_absolute()) {
    base = cache;
  } else if (home != nullptr && fs::path(home).is_absolute()) {
    base = fs::path(home) / ".cache";
  }
  if (base.empty()) return {};
  const fs::path place = base / "prenorm" / "builds";
  std::error_code error;
  if (fs::create_directories(place, error)) {
    fs::permissions(place, fs::perms::owner_all, error);
  }
  struct stat info {};
  const bool own = ::lstat(place.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
                   info.st_uid == ::geteuid() && (info.st_mode & 077u) == 0;
  return own ? place : fs::path();
}

/// A program that may have been replaced by another version.
void add_program(Digest& digest, const char* name) {
  std::error_code error;
  const fs::path program = fs::canonical(name, error);
  struct stat info {};
  if (error || ::stat(program.c_str(), &info) != 0) return;
  digest.add(program.string()).add(std::to_string(info.st_size));
  digest.add(std::to_string(info.st_mtime));
}

/// The digest of a build: of the name and the files handed in, of what is in the folders of headers
/// and packages, of what may not be linked in, of the script that builds, and of the compilers
/// here. `scratch` is the folder for temporary ones. Throws what look_at_snapshot() throws.
std::string build_key(const std::string& name, const std::string& files, const fs::path& scratch,
                      std::span<const fs::path> folders, const std::string& forbidden) {
  Digest digest;
  // Messages name sources by where they lay when they were built, which told() knows here alone.
  digest.add(name).add(scratch.string()).add(files).add(forbidden).add(build_project);
  for (const fs::path& each : folders) digest.add(look_at_snapshot(each).digest);
  for (const char* program : {"/usr/bin/c++", "/usr/bin/cc", "/usr/bin/ld", "/usr/bin/cmake",
                              "/usr/local/cuda/bin/nvcc", "/usr/lib/x86_64-linux-gnu/libc.so.6"}) {
    add_program(digest, program);
  }
  return digest.hex();
}

/// The library that was built under that key, if it is still kept; else an empty path.
fs::path kept_build(const std::string& key) {
  const fs::path place = folder_of_builds();
  std::error_code error;
  const fs::path library = place / (key + ".so");
  return !place.empty() && fs::is_regular_file(fs::symlink_status(library, error)) ? library
                                                                                   : fs::path();
}

/// Keeps a library, and the few that were kept last. What fails here costs only time later.
void keep_build(const std::string& key, const std::string& library) {
  const fs::path place = folder_of_builds();
  if (place.empty()) return;
  try {
    write_whole(place / (key + ".so"), library);
    std::vector<std::pair<fs::file_time_type, fs::path>> kept;
    for (const auto& entry : fs::directory_iterator(place)) {
      std::error_code gone;  // another process may clean up at the same time
      kept.emplace_back(entry.last_write_time(gone), entry.path());
    }
    std::ranges::sort(kept, std::greater());
    for (std::size_t i = most_kept; i < kept.size(); ++i) {
      std::error_code gone;
      fs::remove(kept[i].second, gone);
    }
  } catch (const std::exception&) {
    // A full disk, say.
  }
}

// ---- What a CUDA submission is built with where it runs in the emulator

constexpr const char* archive = "lib/prenorm/libprenorm-emulator-submission.a";
constexpr const char* archive_options = "lib/prenorm/libprenorm-emulator-profile.options";

void copy_part(const fs::path& name, const fs::path& to) {
  fs::create_directories((to / name).parent_path());
  // A build tree has links, to folders and files that cannot be seen in the sandbox either.
  fs::copy(fs::canonical(home() / name), to / name, fs::copy_options::recursive);
}

/// Copies compiler, headers, archive and CMake package to a new folder, laid out like an
/// installation: in the sandbox nothing else of the harness can be seen. Throws CannotCopy.
void copy_emulator_kit(const fs::path& to) {
  try {
    for (const char* name : {"libexec/prenorm/prenorm-cu++", "libexec/prenorm/prenorm-cuda-to-cpp",
                             archive, archive_options, "include/prenorm", "share/cmake/prenorm",
                             "share/prenorm/emulator/include"}) {
      copy_part(name, to);
    }
    for (const auto& entry : fs::directory_iterator(home() / "share/prenorm/emulator")) {
      const fs::path name = entry.path().filename();
      if (name.extension() == ".hpp") copy_part("share/prenorm/emulator" / name, to);
    }
  } catch (const fs::filesystem_error& error) {
    throw CannotCopy("cannot copy " + error.path1().string() + ": " + error.code().message());
  }
}

}  // namespace

bool has_emulator() { return fs::exists(home() / archive); }

void Submission::build() {
  Workplace place = this->place(true);
  place.box.scratch = build_scratch;
  place.box.cpu_seconds = options_.build_seconds;
  fs::path package = fs::canonical(home() / "share" / "cmake" / "prenorm");
  const fs::path headers = fs::canonical(home() / "include" / "prenorm");
  std::array given{package, headers};
  if (emulated) {
    const fs::path kit = folder_->path() / "emulator";
    copy_emulator_kit(kit);
    package = kit / "share" / "cmake" / "prenorm";
    given = {kit, kit};
  }
  place.box.readable = {place.submission, given[0], given[1]};
  // Without a sandbox, a submission could change what is kept.
  const bool may_keep = options_.sandbox != SandboxKind::none;
  const std::string forbidden = joined(options_.forbidden_symbols, "\n");
  std::string key;
  if (may_keep) {
    key = build_key(root_.filename().string(), files, folder_->path().parent_path(), given,
                    forbidden);
  }
  if (may_keep && options_.reuse_build) {
    if (const fs::path kept = kept_build(key); !kept.empty()) {
      library_ = folder_->path() / "library.so";
      fs::copy_file(kept, library_);
      notes.emplace_back("not built again: no file has changed since it was");
      return;
    }
  }
  Process::Command shell{
      "/bin/sh",
      {"-c", std::string(first_errors) + build_project, "build", place.submission.string(),
       package.string(), std::to_string(compilers), emulated ? "ON" : "OFF",
       kind == SubmissionKind::cuda ? "sources" : "project", forbidden},
      {},
      std::nullopt,
      false};
  try {
    const std::string bytes =
        hand_out(confined(shell, place.box), most_library_bytes, options_.build_seconds, compilers);
    library_ = folder_->path() / "library.so";
    if (!(std::ofstream(library_, std::ios::binary) << bytes).flush()) {
      throw CannotCopy("the library cannot be kept: is the disk full?");
    }
    if (may_keep) keep_build(key, bytes);
  } catch (const CannotCopy&) {
    throw;
  } catch (const ProcessTimeout&) {
    fail(Status::compile_error, "is not built within " + seconds_text(options_.build_seconds));
  } catch (const ProcessEnded& end) {
    const bool is_linked = end.how.exit_code == forbidden_is_linked;
    const bool is_refusal = (is_linked || end.how.exit_code == 1) && !end.error.empty();
    fail(is_linked && is_refusal ? Status::sandbox_violation : Status::compile_error,
         is_refusal ? end.error : end.what());
  } catch (const std::exception& error) {
    fail(Status::compile_error, error.what());
  }
}

void Submission::list_symbols() {
  Workplace place = this->place();
  const fs::path program = fs::canonical(home() / "libexec" / "prenorm") / "prenorm-imports";
  place.box.readable = {library_, program};
  Process::Command shell{"/bin/sh",
                         {"-c", list_imports, "list", library_.string(), program.string()},
                         {},
                         std::nullopt,
                         false};
  try {
    std::istringstream lines(
        hand_out(confined(shell, place.box), most_listing_bytes, seconds_to_list));
    for (std::string line; std::getline(lines, line);) imports.push_back(printable(line, 200));
    std::ranges::sort(imports);
  } catch (const std::exception& error) {
    imports_known = false;
    notes.push_back("what the library takes from elsewhere is not known: " +
                    printable(told(error.what())));
  }
}

}  // namespace prenorm::harness
