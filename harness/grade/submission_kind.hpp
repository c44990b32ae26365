// What somebody handed in, by its files.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace prenorm::harness {

enum class SubmissionKind { cmake, cuda, library, python, outputs };

/// "CMake project", "CUDA source", "library", "Python", "outputs".
std::string_view name(SubmissionKind kind);

/// What lies at that path. Of a folder a project comes first, then adapters.py, one library,
/// outputs, CUDA sources. Throws std::invalid_argument where it is nothing that can be submitted.
SubmissionKind submission_kind(const std::filesystem::path& path);

/// By a file's name.
bool is_cuda(const std::filesystem::path& path);
bool is_library(const std::filesystem::path& path);
bool is_outputs(const std::filesystem::path& path);

/// Whether a CMake project has CUDA sources, anywhere in it.
bool has_cuda_sources(const std::filesystem::path& folder);

/// The files of a folder itself with that property, sorted.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder,
                                            bool (*wanted)(const std::filesystem::path&));

}  // namespace prenorm::harness
