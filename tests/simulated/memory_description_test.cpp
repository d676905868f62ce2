// Machine files: what is read, every kind of mistake, and the files that come with the project.
#include "model/simulated/description/description.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace syncopate::simulated {
namespace {

std::string good_text() {
  std::ifstream file(SYNCOPATE_SOURCE_MACHINES "/test-4c.toml");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The file with one piece replaced; the line where the piece was.
struct changed {
  std::string text;
  std::size_t line;
};
changed with(const std::string& from, const std::string& to) {
  std::string text = good_text();
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  text.replace(at, from.size(), to);
  return {text, static_cast<std::size_t>(line) + 1};
}

std::string error_of(const std::string& text) {
  try {
    parse_description(text, "m.toml");
  } catch (const description_error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Description, AMistakeIsOneLineForATerminal) {
  const std::string wrong[] = {
      "\x1b[31m", "a\x1b]0;x\a = 1\n", "\"\\u001b[2J\\n\" = 1\n" + good_text(),
      good_text() + "[\"\\u009b31m\"]\nx = 1\n", with("\"test-4c\"", "\"\\u001b[31m\"").text};
  for (const std::string& text : wrong) {
    const std::string said = error_of(text);
    EXPECT_NE(said, "accepted") << text;
    EXPECT_EQ(said.find_first_of("\x1b\a\n"), std::string::npos) << said;
    EXPECT_EQ(said.find("\xc2\x9b"), std::string::npos) << said;
  }
}

TEST(Description, ReadsEveryNumber) {
  const description machine = parse_description(good_text(), "m.toml");
  EXPECT_EQ(machine.name, "test-4c");
  EXPECT_EQ(machine.file, "m.toml");
  EXPECT_EQ(machine.processors(), 4u);
  EXPECT_EQ(machine.topology.frequency_hz, 1'000'000'000u);
  EXPECT_EQ(machine.core.store_buffer, 4u);
  EXPECT_EQ(machine.l1.sets(), 16u);
  EXPECT_EQ(machine.llc.shared_by, 2u);
  EXPECT_EQ(machine.coherence.transfer_remote, 100u);
  EXPECT_EQ(machine.atomic.fence_cycles, 20u);
  EXPECT_EQ(machine.dram.remote, 300u);
  EXPECT_TRUE(machine.htm.write_in_l1);
  EXPECT_EQ(machine.htm.abort_cycles, 100u);
  EXPECT_EQ(machine.monitor.deep.wake_cycles, 500u);
  EXPECT_EQ(machine.os.time_slice_microseconds, 100u);
  EXPECT_DOUBLE_EQ(machine.energy.dram_joules, 20e-9);
  EXPECT_DOUBLE_EQ(machine.seconds(500'000'000), 0.5);
}

TEST(Description, NumbersProcessorsCoreByCore) {
  description machine = parse_description(good_text(), "m.toml");
  machine.topology.smt = 2;
  EXPECT_EQ(machine.core_of(1), 1u);
  EXPECT_EQ(machine.core_of(5), 1u);
  EXPECT_EQ(machine.sibling_of(5), 1u);
  EXPECT_EQ(machine.socket_of(2), 1u);
  EXPECT_EQ(machine.node_of(1), 0u);
  EXPECT_EQ(machine.cluster_of(3), 1u);
}

struct mistake {
  const char* from;
  const char* to;
  const char* key;
  const char* what;
  std::size_t below = 0;  // how many lines below the change the blamed key is

  // Tests are named by it.
  friend void PrintTo(const mistake& one, std::ostream* out) {
    *out << one.key << ": " << one.what;
  }
};

class MistakenDescription : public testing::TestWithParam<mistake> {};

TEST_P(MistakenDescription, NamesFileLineAndKey) {
  const mistake& made = GetParam();
  const changed file = with(made.from, made.to);
  const std::string error = error_of(file.text);
  EXPECT_EQ(
      error.rfind("m.toml:" + std::to_string(file.line + made.below) + ": " + made.key + ": ", 0),
      0u)
      << error;
  EXPECT_NE(error.find(made.what), std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, MistakenDescription,
    testing::Values(
        mistake{"relax_cycles = 10", "relax_cycle = 10", "core.relax_cycle",
                "unknown key; did you mean relax_cycles?"},
        mistake{"smt = 1", "smt = 1\nturbo_mode = 2", "topology.turbo_mode", "unknown key", 1},
        mistake{"[coherence]", "[coherense]", "coherense", "did you mean coherence?"},
        mistake{"frequency_hz = 1_000_000_000", "frequency_hz = 0", "topology.frequency_hz",
                "must lie between"},
        mistake{"frequency_hz = 1_000_000_000", "frequency_hz = 99999999999999999999",
                "topology.frequency_hz", "not representable"},
        mistake{"smt_share = ", "smt_share = 1e400 #", "core.smt_share",
                "could not be interpreted as a value"},
        mistake{"sockets = 2", "sockets = \"2\"", "topology.sockets",
                "must be an integer, is a string"},
        mistake{"cores = 4", "cores = 4.0", "topology.cores", "must be an integer"},
        mistake{"cores = 4", "cores = 3", "topology.cores", "multiple of topology.nodes"},
        mistake{"nodes = 2", "nodes = 3", "topology.nodes", "multiple of topology.sockets"},
        mistake{"cluster = 2", "cluster = 3", "topology.cluster", "divide"},
        mistake{"smt = 1", "smt = 9", "topology.smt", "between 1 and 4, is 9"},
        mistake{"ways = 4", "ways = 3", "cache.l1.ways", "divide the size"},
        mistake{"size = 4096", "size = 12288", "cache.l1.ways", "power of two", 1},
        mistake{"line = 64", "line = 48", "cache.l1.line", "power of two"},
        mistake{"shared_by = 2", "shared_by = 4", "cache.llc.shared_by", "cores of a socket"},
        mistake{"size = 32768", "size = 2048", "cache.l2.size", "smaller than the L1s"},
        mistake{"transfer_remote = 100", "transfer_remote = 10", "coherence.transfer_remote",
                "not be less than coherence.transfer_socket"},
        mistake{"hops = []", "hops = [[0, 1]]", "coherence.hops", "a row and a column"},
        mistake{"hops = []", "hops = [[0, 1], [2, 0]]", "coherence.hops", "symmetric"},
        mistake{"hops = []", "hops = [[1, 1], [1, 0]]", "coherence.hops", "to itself"},
        mistake{"hops = []", "hops = 1", "coherence.hops", "list of rows"},
        mistake{"remote = 300", "remote = 100", "dram.remote", "not be less than dram.local"},
        mistake{"drains_stores = true", "drains_stores = 1", "atomic.drains_stores",
                "must be true or false, is a integer"},
        mistake{"write_in_l1 = true", "write_in_l1 = false", "htm.write_lines", "at least 1", 1},
        mistake{"name = \"test-4c\"", "name = \"\"", "machine.name", "empty"},
        mistake{"name = \"test-4c\"", "name = 4", "machine.name", "must be a string"},
        mistake{"smt_share = 0.5", "smt_share = nan", "core.smt_share", "between 0.05 and 1"},
        mistake{"smt_share = 0.5", "smt_share = \"half\"", "core.smt_share", "must be a number"},
        mistake{"running = 10.0", "running = -1.0", "energy.running", "between 0 and"}));

TEST(MistakenDescription, MissingKeyNamesItsSection) {
  const changed file = with("[dram]\nlocal = 200\n", "[dram]\n");
  EXPECT_EQ(error_of(file.text),
            "m.toml:" + std::to_string(file.line) + ": dram.local: this key is missing");
}

TEST(MistakenDescription, MissingSection) {
  const std::string text = good_text();
  const std::size_t at = text.find("[energy]");
  EXPECT_EQ(error_of(text.substr(0, at)), "m.toml:1: energy: this key is missing");
}

TEST(MistakenDescription, SectionThatIsNoTable) {
  EXPECT_EQ(error_of("energy = 5\n" + good_text().replace(good_text().find("[energy]"), 8, "[x]")),
            "m.toml:" + std::to_string(with("[energy]", "").line + 1) + ": x: unknown key");
  EXPECT_EQ(error_of("machine = 5\n"), "m.toml:1: machine: must be a table, is a integer");
}

TEST(MistakenDescription, SyntaxErrorsNameTheLine) {
  const changed file = with("smt = 1", "smt = = 1");
  EXPECT_EQ(error_of(file.text).rfind("m.toml:" + std::to_string(file.line) + ": ", 0), 0u);
}

TEST(MistakenDescription, AbsentFeaturesHaveNoNumbers) {
  const std::string text = good_text();
  const std::size_t from = text.find("[htm]");
  const std::size_t to = text.find("[monitor]");
  const std::string head = text.substr(0, from);
  const std::string tail = text.substr(to);
  EXPECT_FALSE(parse_description(head + "[htm]\npresent = false\n" + tail, "m").htm.present);
  EXPECT_NE(error_of(head + "[htm]\npresent = false\nwrite_lines = 3\n" + tail)
                .find("htm.write_lines: unknown key"),
            std::string::npos);
}

// As installed they lie beside the machine's library, which is not in this program.
const bool are_found = setenv("SYNCOPATE_MACHINES", SYNCOPATE_SOURCE_MACHINES, 1) == 0;

TEST(Machines, EveryFileOfTheProjectLoads) {
  ASSERT_TRUE(are_found);
  const std::vector<std::string> names = machine_names();
  for (const char* wanted :
       {"opteron-6272", "broadwell-2x18", "haswell-4c8t", "zec12-12c", "sapphire-rapids-2s",
        "epyc-9754-2s", "graviton-96c", "small-2c", "test-4c"})
    EXPECT_TRUE(std::find(names.begin(), names.end(), wanted) != names.end()) << wanted;
  for (const std::string& name : names) {
    const description machine = read_description(find_machine(name));
    EXPECT_EQ(machine.name, name);
    EXPECT_FALSE(machine.source.empty());
  }
}

TEST(Machines, PaperMachinesHaveThePapersNumbers) {
  const description opteron = read_description(find_machine("opteron-6272"));
  EXPECT_EQ(opteron.topology.cores, 64u);
  EXPECT_EQ(opteron.topology.sockets, 4u);
  EXPECT_TRUE(opteron.monitor.present);
  const description haswell = read_description(find_machine("haswell-4c8t"));
  EXPECT_EQ(haswell.processors(), 8u);
  EXPECT_EQ(haswell.htm.read_lines * haswell.l1.line, 6u << 20);
  EXPECT_EQ(haswell.htm.write_lines * haswell.l1.line, 19u << 10);
  EXPECT_TRUE(haswell.htm.learning);
  const description zec12 = read_description(find_machine("zec12-12c"));
  EXPECT_EQ(zec12.l1.line, 256u);
  EXPECT_EQ(zec12.htm.write_lines * zec12.l1.line, 8u << 10);
  EXPECT_EQ(zec12.htm.read_lines * zec12.l1.line, 1u << 20);
  EXPECT_EQ(read_description(find_machine("broadwell-2x18")).topology.cores, 36u);
}

TEST(Machines, UnknownNameListsTheNearOnes) {
  try {
    find_machine("opteron-6273");
    FAIL();
  } catch (const description_error& error) {
    EXPECT_STREQ(error.what(), "no machine is called \"opteron-6273\"; did you mean opteron-6272");
  }
  try {
    find_machine("xyzzy");
    FAIL();
  } catch (const description_error& error) {
    EXPECT_NE(std::string(error.what()).find("there are broadwell-2x18, "), std::string::npos);
  }
}

TEST(Machines, EnvironmentComesFirstAndPathsAreTakenAsTheyAre) {
  const auto folder =
      std::filesystem::path(testing::TempDir()) / ("machines-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "test-4c.toml") << with("cores = 4", "cores = 8").text;
  setenv("SYNCOPATE_MACHINES", ("/nowhere:" + folder.string()).c_str(), 1);
  EXPECT_EQ(read_description(find_machine("test-4c")).topology.cores, 8u);
  setenv("SYNCOPATE_MACHINES", SYNCOPATE_SOURCE_MACHINES, 1);
  EXPECT_EQ(read_description(find_machine("test-4c")).topology.cores, 4u);
  const std::string path = (folder / "test-4c.toml").string();
  EXPECT_EQ(find_machine(path), path);
  std::filesystem::remove_all(folder);
  EXPECT_THROW(read_description(path), description_error);
}

}  // namespace
}  // namespace syncopate::simulated
