// Reading a file of requests from a text, and what it complains of.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "tessera/serving/request.hpp"

namespace tessera::serving::trace_test {

inline constexpr RequestNeeds language{true, false, 7};

class Traces : public ::testing::Test {
 protected:
  void SetUp() override {
    // Suites have tests of one name, which may run at one time.
    const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("tessera_traces_") + test.test_suite_name() + "_" + test.name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<RequestSource> read(const std::string& content, const std::string& keys = "",
                                      const RequestNeeds& needs = language,
                                      const std::string& arrivals = "trace") const {
    const std::filesystem::path file = folder_ / "requests";
    std::ofstream(file, std::ios::binary) << content;
    config::Diagnostics diagnostics;
    config::Section section(
        config::parse("requests.yaml",
                      "{arrivals: " + arrivals + ", file: " + file.string() + keys + "}",
                      diagnostics),
        "", diagnostics);
    auto made = read_requests(section, needs);
    section.finish();
    diagnostics.throw_if_any();
    return made;
  }

  // "LINE:COLUMN: message" of the one complaint.
  std::string complaint(const std::string& content, const std::string& keys = "",
                        const RequestNeeds& needs = language) const {
    try {
      read(content, keys, needs);
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.diagnostics().size(), 1U);
      const Diagnostic& one = error.diagnostics().front();
      return std::to_string(one.line) + ":" + std::to_string(one.column) + ": " + one.message;
    }
    return "none";
  }

  std::filesystem::path folder_;
};

inline std::int64_t ps(const RequestSource& source, std::uint64_t number) {
  return source.request(number).arrival.ps();
}

}  // namespace tessera::serving::trace_test
