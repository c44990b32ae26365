// prenorm-imports FILE: what a shared library takes from elsewhere, one name per line: the
// libraries that it needs, and the symbols.
//
// Reads the file as the loader does, by its program headers: sections are for linkers and
// debuggers, and whoever hides something leaves them out. Ends with an error, and prints nothing,
// where the file is not what a linker makes: a list that may lack something is worse than none.
// Runs in the sandbox, on files that were made to break it.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::size_t most_entries = 10'000;  // of the dynamic section: linkers write about 30
constexpr std::size_t longest_name = 16u << 10, most_bytes = 4u << 20;

struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Some addresses of the loaded library.
struct Range {
  std::uint64_t address = 0, bytes = 0;

  bool has(const Range& other) const {
    return other.address >= address && other.bytes <= bytes &&
           other.address - address <= bytes - other.bytes;
  }
  bool touches(const Range& other) const {
    return other.address >= address ? other.address - address < bytes
                                    : address - other.address < other.bytes;
  }
};

/// A part of the file, and where it is loaded.
struct Segment {
  Range file;  // its addresses, as far as they come from the file
  std::uint64_t offset = 0;
};

class Library {
 public:
  explicit Library(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
    if (!in || bytes_.empty()) throw Refused("cannot be read");
    read_segments();
    read_dynamic();
  }

  std::set<std::string> imports() {
    for (const std::uint64_t name : needed_) add(string(name));
    add_relocations(DT_RELA, DT_RELASZ, sizeof(Elf64_Rela));
    add_relocations(DT_REL, DT_RELSZ, sizeof(Elf64_Rel));
    const std::uint64_t kind = value(DT_PLTREL, DT_RELA);
    if (kind != DT_RELA && kind != DT_REL) throw Refused("has unknown relocations");
    add_relocations(DT_JMPREL, DT_PLTRELSZ,
                    kind == DT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel));
    add_packed_relocations();
    const std::uint64_t count = symbols();
    for (std::uint64_t i = 1; i < count; ++i) add_symbol(i, false);
    check_relocations();
    if (names_.empty()) throw Refused("takes nothing from elsewhere, as no library does");
    return names_;
  }

 private:
  template <class T>
  T at_offset(std::uint64_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) {
      throw Refused("ends too early");
    }
    T object;
    std::memcpy(&object, bytes_.data() + offset, sizeof object);
    return object;
  }

  const Segment& segment_of(const Range& range) const {
    const auto found = std::ranges::find_if(
        segments_, [&](const Segment& segment) { return segment.file.has(range); });
    if (found == segments_.end()) throw Refused("has a table that is not loaded from it");
    return *found;
  }

  /// An object at an address of the loaded library.
  template <class T>
  T at(std::uint64_t address) const {
    const Segment& segment = segment_of({address, sizeof(T)});
    return at_offset<T>(segment.offset + (address - segment.file.address));
  }

  /// A table, which no relocation may change: see check_relocations().
  Range table(std::uint64_t address, std::uint64_t count, std::uint64_t each) {
    if (count > bytes_.size() / each) throw Refused("has a table that is longer than the file");
    const Range range{address, count * each};
    if (range.bytes > 0) {
      segment_of(range);
      std::uint64_t& bytes = tables_[address];
      bytes = std::max(bytes, range.bytes);
    }
    return range;
  }

  /// The loader works relocations off while it reads the tables, some of which patched libraries
  /// have where it may write.
  void check_relocations() const {
    for (const Range& written : written_) {
      for (const auto& [address, bytes] : tables_) {
        if (written.touches({address, bytes})) {
          throw Refused("changes its own tables while it is loaded");
        }
      }
    }
  }

  void read_segments() {
    const auto header = at_offset<Elf64_Ehdr>(0);
    constexpr std::array<unsigned char, 6> wanted{ELFMAG0, ELFMAG1,    ELFMAG2,
                                                  ELFMAG3, ELFCLASS64, ELFDATA2LSB};
    if (!std::equal(wanted.begin(), wanted.end(), header.e_ident) || header.e_type != ET_DYN) {
      throw Refused("is not a 64-bit shared library");
    }
    if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > bytes_.size()) {
      throw Refused("has odd program headers");
    }
    std::uint64_t free = 0;  // the first page that no segment has taken
    for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
      const auto part = at_offset<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
      if (part.p_type == PT_DYNAMIC) {
        if (dynamic_ != 0) throw Refused("has two dynamic sections");
        dynamic_ = part.p_vaddr;
      }
      if (part.p_type == PT_LOAD) free = add_segment(part, free);
    }
    if (dynamic_ == 0) throw Refused("has no dynamic section");
  }

  /// Takes a segment that begins behind those before; returns where the next may begin.
  std::uint64_t add_segment(const Elf64_Phdr& part, std::uint64_t free) {
    constexpr std::uint64_t most = 1ull << 47;
    const bool in_file = part.p_offset <= bytes_.size() &&
                         part.p_filesz <= bytes_.size() - part.p_offset &&
                         part.p_filesz <= part.p_memsz;
    if (!in_file || part.p_vaddr >= most || part.p_memsz >= most ||
        (part.p_vaddr - part.p_offset) % page != 0 || part.p_vaddr / page * page < free) {
      throw Refused("has segments that do not fit");
    }
    segments_.push_back({{part.p_vaddr, part.p_filesz}, part.p_offset});
    return (part.p_vaddr + part.p_memsz + page - 1) / page * page;
  }

  void read_dynamic() {
    std::size_t count = 0;
    for (bool more = true; more; ++count) {
      if (count == most_entries) throw Refused("has an endless dynamic section");
      const auto entry = at<Elf64_Dyn>(dynamic_ + count * sizeof(Elf64_Dyn));
      switch (entry.d_tag) {
        case DT_NULL: more = false; break;
        case DT_NEEDED:
        case DT_AUXILIARY:
        case DT_FILTER: needed_.push_back(entry.d_un.d_val); break;
        default:
          if (!values_.emplace(entry.d_tag, entry.d_un.d_val).second && is_read(entry.d_tag)) {
            throw Refused("has two tables of one kind");
          }
      }
    }
    tables_[dynamic_] = count * sizeof(Elf64_Dyn);
    if (values_.contains(DT_TEXTREL) || (value(DT_FLAGS, 0) & DF_TEXTREL) != 0) {
      throw Refused("is changed while it is loaded (text relocations)");
    }
  }

  static bool is_read(std::int64_t tag) {
    constexpr std::array<std::int64_t, 18> all{
        DT_STRTAB, DT_STRSZ,  DT_SYMTAB,  DT_SYMENT, DT_HASH,   DT_GNU_HASH,
        DT_RELA,   DT_RELASZ, DT_REL,     DT_RELSZ,  DT_JMPREL, DT_PLTRELSZ,
        DT_PLTREL, DT_FLAGS,  DT_RELAENT, DT_RELR,   DT_RELRSZ, DT_RELRENT};
    return std::ranges::find(all, tag) != all.end();
  }

  std::uint64_t value(std::int64_t tag) const {
    const auto found = values_.find(tag);
    if (found == values_.end()) throw Refused("lacks a table");
    return found->second;
  }

  std::uint64_t value(std::int64_t tag, std::uint64_t otherwise) const {
    return values_.contains(tag) ? value(tag) : otherwise;
  }

  std::string string(std::uint64_t index) {
    const Range all = table(value(DT_STRTAB), value(DT_STRSZ), 1);
    std::string text;
    for (; index < all.bytes && text.size() < longest_name; ++index) {
      const char letter = at<char>(all.address + index);
      if (letter == '\0') return text;
      text += letter;
    }
    throw Refused("has a name that does not end");
  }

  void add(const std::string& name) {
    if (name.empty() || !names_.insert(name).second) return;
    bytes_of_names_ += name.size() + 1;
    if (bytes_of_names_ > most_bytes) throw Refused("has too many names");
  }

  /// Adds the name of a symbol that the library does not have itself. The loader looks up each one
  /// that a relocation refers to, in other libraries first, unless nobody else may see it.
  void add_symbol(std::uint64_t index, bool is_looked_up) {
    if (value(DT_SYMENT, sizeof(Elf64_Sym)) != sizeof(Elf64_Sym)) {
      throw Refused("has odd symbols");
    }
    const Range all = table(value(DT_SYMTAB), index + 1, sizeof(Elf64_Sym));
    const auto symbol = at<Elf64_Sym>(all.address + index * sizeof(Elf64_Sym));
    const bool is_own = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ||
                        ELF64_ST_VISIBILITY(symbol.st_other) != STV_DEFAULT;
    if (symbol.st_shndx == SHN_UNDEF || (is_looked_up && !is_own)) add(string(symbol.st_name));
  }

  /// Adds the symbols that relocations refer to: those that the loader looks up.
  void add_relocations(std::int64_t where, std::int64_t size, std::uint64_t each) {
    const std::uint64_t bytes = value(size, 0);
    if (bytes == 0) return;
    if (bytes % each != 0) throw Refused("has odd relocations");
    const Range all = table(value(where), bytes / each, each);
    for (std::uint64_t at_byte = 0; at_byte < all.bytes; at_byte += each) {
      const auto relocation = at<Elf64_Rel>(all.address + at_byte);  // as an Elf64_Rela begins
      const auto kind = ELF64_R_TYPE(relocation.r_info);
      if (kind == R_X86_64_COPY) throw Refused("copies a program's data, as no library does");
      const std::uint64_t words = kind == R_X86_64_TLSDESC ? 2 : 1;
      written_.push_back({relocation.r_offset, words * sizeof(Elf64_Addr)});
      if (const auto index = ELF64_R_SYM(relocation.r_info); index != 0) add_symbol(index, true);
    }
  }

  /// DT_RELR: what they write. An even word is an address; an odd one has a bit for each of the 63
  /// words behind the last address.
  void add_packed_relocations() {
    constexpr std::uint64_t each = sizeof(Elf64_Addr), bits = 63;
    const std::uint64_t bytes = value(DT_RELRSZ, 0);
    if (bytes == 0) return;
    if (bytes % each != 0) throw Refused("has odd relocations");
    const Range all = table(value(DT_RELR), bytes / each, each);
    std::uint64_t next = 0;
    for (std::uint64_t at_byte = 0; at_byte < all.bytes; at_byte += each) {
      const auto word = at<Elf64_Addr>(all.address + at_byte);
      if ((word & 1) == 0) {
        written_.push_back({word, each});
        next = word + each;
        continue;
      }
      for (std::uint64_t bit = 0; bit < bits; ++bit) {
        if ((word >> (bit + 1) & 1) != 0) written_.push_back({next + bit * each, each});
      }
      next += bits * each;
    }
  }

  /// The number of symbols, by the tables that find them.
  std::uint64_t symbols() {
    if (!values_.contains(DT_HASH) && !values_.contains(DT_GNU_HASH)) {
      throw Refused("lacks a table of symbols");
    }
    std::uint64_t count = 0;
    if (values_.contains(DT_HASH)) {
      const std::uint64_t hash = table(value(DT_HASH), 2, sizeof(std::uint32_t)).address;
      count = at<std::uint32_t>(hash + sizeof(std::uint32_t));
    }
    if (values_.contains(DT_GNU_HASH)) count = std::max(count, symbols_of_gnu_hash());
    table(value(DT_SYMTAB), count, sizeof(Elf64_Sym));
    return count;
  }

  std::uint64_t symbols_of_gnu_hash() {
    using Word = std::uint32_t;
    const std::uint64_t hash = table(value(DT_GNU_HASH), 4, sizeof(Word)).address;
    const std::uint64_t buckets = at<Word>(hash), first = at<Word>(hash + sizeof(Word)),
                        filters = at<Word>(hash + 2 * sizeof(Word));
    const Range heads =
        table(hash + 4 * sizeof(Word) + filters * sizeof(std::uint64_t), buckets, sizeof(Word));
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < buckets; ++i) {
      last = std::max<std::uint64_t>(last, at<Word>(heads.address + i * sizeof(Word)));
    }
    if (last < first) return first;  // it has none of its own
    const std::uint64_t chains = heads.address + heads.bytes;
    while ((at<Word>(chains + (last - first) * sizeof(Word)) & 1) == 0) ++last;
    return last + 1;
  }

  std::vector<char> bytes_;
  std::vector<Segment> segments_;
  std::uint64_t dynamic_ = 0;                      // where the dynamic section is
  std::map<std::uint64_t, std::uint64_t> tables_;  // their bytes, by their addresses
  std::vector<Range> written_;                     // by relocations
  std::map<std::int64_t, std::uint64_t> values_;   // of the dynamic section, by their tags
  std::vector<std::uint64_t> needed_;              // names
  std::set<std::string> names_;
  std::size_t bytes_of_names_ = 0;
};

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("usage: prenorm-imports FILE\n", stderr);
    return 2;
  }
  try {
    const std::set<std::string> names = Library(words[1]).imports();
    for (const std::string& name : names) std::puts(name.c_str());
    return std::fflush(stdout) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the library %s\n", error.what());
    return 1;
  }
}
