// A folder for one test, removed with everything in it at the end.
#pragma once

#include <filesystem>
#include <string>

namespace filigree::test {

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// The path of a file in the folder.
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file into the folder and returns its path.
  std::string write(const std::string& name, const std::string& content) const;
  /// Names of the files and folders directly inside, sorted.
  std::string listing() const;

 private:
  std::filesystem::path path_;
};

/// A file's bytes as they are; "" for a missing file.
std::string content_of(const std::filesystem::path& path);

}  // namespace filigree::test
