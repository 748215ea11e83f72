#include "tessera/trace/run_folder.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "trace_test_support.hpp"

namespace tessera::trace::test::run_folder_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void write_run(const TempFolder& folder) {
  write_file_atomically(folder.file("config.resolved.yaml"), "seed: 1\n");
  for (int rank = 0; rank < 2; ++rank) {
    TraceFile file(folder.file(trace_name(rank, 2)), {row_table("a")}, {});
    for (std::uint64_t i = 0; i < 100; ++i) {
      file.append(0, row_of(i, static_cast<std::uint32_t>(rank)));
    }
    file.close(SimTime::from_ps(1));
  }
  write_index(folder.path(), 2);
  write_file_atomically(folder.file("summary.json"), "{}\n");
  write_manifest(folder.path(), 2);
}

TEST(RunFolder, NamesTraces) {
  EXPECT_EQ(trace_name(3, 4), "trace.00003.h5");
  EXPECT_EQ(trace_name(999, 1000), "trace.00999.h5");
  EXPECT_EQ(trace_name(3141, 4000), "traces/003/trace.03141.h5");
  EXPECT_EQ(trace_name(7, 1001), "traces/000/trace.00007.h5");
}

TEST(RunFolder, IsMadeWithItsParents) {
  const TempFolder folder;
  const std::string path = folder.file("results/of today/run");
  prepare_run_folder(path, 2500);
  EXPECT_TRUE(fs::is_directory(path + "/traces/000"));
  EXPECT_TRUE(fs::is_directory(path + "/traces/002"));
  EXPECT_FALSE(fs::exists(path + "/traces/003"));
}

TEST(RunFolder, LosesAnEarlierRunAndKeepsPlots) {
  const TempFolder folder;
  write_run(folder);
  fs::create_directories(folder.file("traces/001"));
  write_contents(folder.file("traces/001/trace.01000.h5"), "old");
  fs::create_directory(folder.file("plots"));
  for (const char* kept : {"plots/mine.txt", "busy.png", "timeline.json.gz", "report.html"}) {
    write_contents(folder.file(kept), "kept");
  }
  write_contents(folder.file("manifest.json.tmp"), "half");
  prepare_run_folder(folder.path(), 2);
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    left.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(left, ::testing::UnorderedElementsAre("plots", "busy.png", "timeline.json.gz",
                                                    "report.html"));
  EXPECT_EQ(contents_of(folder.file("plots/mine.txt")), "kept");
}

TEST(RunFolder, RefusesToRemoveWhatIsNotOurs) {
  const TempFolder folder;
  write_run(folder);
  const auto message = [&] {
    return message_of<ConfigError>([&] { prepare_run_folder(folder.path(), 2); });
  };
  for (const char* name :
       {"thesis.tex", "trace.1.h5", "trace.0000x.h5", "summary.json.bak", ".hidden", "traces",
        "other/", "traces/001/notes", "traces/x/", "summary.json.tmp/"}) {
    const fs::path path = folder.file(name);
    fs::create_directories(path.parent_path());
    if (path.filename().empty()) {
      fs::create_directories(path);
    } else {
      write_contents(path.string(), "precious");
    }
    std::string shown = name;
    if (shown.ends_with('/')) {
      shown.pop_back();
    }
    EXPECT_THAT(message(), HasSubstr("holds '" + shown + "', which is not of a run"));
    const fs::path first = *fs::path(name).begin();
    fs::remove_all(folder.file(first.string()));
  }
  fs::create_symlink("/", folder.file("index.h5.tmp"));
  EXPECT_THAT(message(), HasSubstr("'index.h5.tmp'"));
  fs::remove(folder.file("index.h5.tmp"));
  EXPECT_THAT(verify_run_folder(folder.path()), IsEmpty()) << "a refusal removes nothing";

  const std::string file = folder.file("summary.json");
  EXPECT_THAT(message_of<ConfigError>([&] { prepare_run_folder(file, 2); }),
              HasSubstr("is not a folder"));
  EXPECT_THAT(message_of<IoError>([&] { prepare_run_folder(file + "/run", 2); }),
              HasSubstr("Not a directory"));
}

TEST(RunFolder, ReplacesFilesWhole) {
  const TempFolder folder;
  const std::string path = folder.file("summary.json");
  write_file_atomically(path, "old");
  const std::string text(100'000, 'n');
  write_file_atomically(path, text);
  EXPECT_EQ(contents_of(path), text);
  EXPECT_FALSE(fs::exists(path + ".tmp"));

  fs::create_directory(folder.file("taken"));
  EXPECT_THAT(message_of<IoError>([&] { write_file_atomically(folder.file("taken"), "x"); }),
              HasSubstr(folder.file("taken") + ": error: cannot rename the file"));
  EXPECT_FALSE(fs::exists(folder.file("taken.tmp")));
  EXPECT_THAT(message_of<IoError>([&] { write_file_atomically(folder.file("no/file"), "x"); }),
              HasSubstr("No such file or directory (errno 2)"));
}

TEST(Manifest, AcceptsAWholeRun) {
  const TempFolder folder;
  write_run(folder);
  EXPECT_THAT(verify_run_folder(folder.path()), IsEmpty());
  const std::string text = contents_of(folder.file("manifest.json"));
  for (const char* name : {"config.resolved.yaml", "trace.00000.h5", "trace.00001.h5", "index.h5",
                           "summary.json", "\"a\": 100"}) {
    EXPECT_THAT(text, HasSubstr(name));
  }
}

TEST(Manifest, NoticesAFlippedByte) {
  const TempFolder folder;
  write_run(folder);
  for (const char* name : {"config.resolved.yaml", "trace.00001.h5", "index.h5", "summary.json"}) {
    const std::string path = folder.file(name);
    const std::string contents = contents_of(path);
    std::string damaged = contents;
    damaged[contents.size() / 2] = static_cast<char>(damaged[contents.size() / 2] ^ 1);
    write_contents(path, damaged);
    EXPECT_THAT(verify_run_folder(folder.path()),
                ElementsAre(std::string(name) + ": damaged (CRC-32C differs)"));
    write_contents(path, contents + "x");
    EXPECT_THAT(verify_run_folder(folder.path()),
                ElementsAre(std::string(name) + ": has " + std::to_string(contents.size() + 1) +
                            " bytes instead of " + std::to_string(contents.size())));
    write_contents(path, contents);
  }
  EXPECT_THAT(verify_run_folder(folder.path()), IsEmpty());
}

// Folders of others: a pipe that nobody writes to, a device without an end, a size that would take
// minutes to read.
TEST(Manifest, NoticesWhatIsNoFileWithoutReadingIt) {
  const TempFolder folder;
  write_run(folder);
  for (const char* name : {"trace.00001.h5", "summary.json", "manifest.json"}) {
    const std::string path = folder.file(name);
    const std::string contents = contents_of(path);
    const auto faults = [&] { return verify_run_folder(folder.path()); };
    fs::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_THAT(faults(), ElementsAre(HasSubstr("no regular file but a device, pipe"))) << name;
    fs::remove(path);
    fs::create_symlink("/dev/zero", path);
    EXPECT_THAT(faults(), ElementsAre(HasSubstr("no regular file but a device, pipe"))) << name;
    fs::remove(path);
    write_contents(path, "");
    fs::resize_file(path, std::uintmax_t{1} << 40U);
    EXPECT_THAT(faults(),
                ElementsAre(::testing::AnyOf(HasSubstr("has 1099511627776 bytes instead of"),
                                             HasSubstr("is too large: more than 256 MiB"))));
    fs::remove(path);
    write_contents(path, contents);
  }
  EXPECT_THAT(verify_run_folder(folder.path()), IsEmpty());
}

TEST(Manifest, NoticesItsOwnDamage) {
  const TempFolder folder;
  write_run(folder);
  const std::string path = folder.file("manifest.json");
  const std::string contents = contents_of(path);
  for (std::size_t place = 0; place < contents.size(); place += 7) {
    if (contents[place] == ' ' || contents[place] == '\n') {
      continue;  // space between values means nothing
    }
    std::string damaged = contents;
    damaged[place] = static_cast<char>(damaged[place] ^ 2);
    write_contents(path, damaged);
    EXPECT_THAT(verify_run_folder(folder.path()), ::testing::SizeIs(1)) << "at " << place;
  }
  for (const char* text : {"", "{}", "[]", "{\"files\": 3}"}) {
    write_contents(path, text);
    EXPECT_THAT(verify_run_folder(folder.path()), ::testing::SizeIs(1)) << text;
  }
}

TEST(Manifest, ListsWhatIsMissing) {
  const TempFolder folder;
  write_run(folder);
  fs::remove(folder.file("trace.00000.h5"));
  fs::remove(folder.file("summary.json"));
  EXPECT_THAT(verify_run_folder(folder.path()),
              ElementsAre("trace.00000.h5: missing", "summary.json: missing"));
  EXPECT_THAT(message_of<IoError>([&] { write_manifest(folder.path(), 2); }),
              HasSubstr("trace.00000.h5: error: cannot open the file"));
  fs::remove(folder.file("manifest.json"));
  EXPECT_THAT(verify_run_folder(folder.path()),
              ElementsAre("manifest.json: missing; the run did not finish"));
}

}  // namespace
}  // namespace tessera::trace::test::run_folder_test
