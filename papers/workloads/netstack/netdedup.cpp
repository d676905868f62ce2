// netdedup.cpp -- a client streams files; the server cuts them into chunks by a rolling hash, keeps
// each chunk once, compresses it, and has an archive at the end.
//
// Follows netdedup of PARSEC 3.0, which section 6 of tsx-hpc uses. How we deviate: the input is
// made by a seed (a few documents again and again, with changes); the server's stages are phases,
// since the paper runs the input stage in full before the others; the client has one connection a
// thread.
#include <map>
#include <string>

#include <zlib.h>

#include "harness.h"

namespace {

using byte_vector = std::vector<std::uint8_t>;
using net::bytes;

const workloads::sized total{
    "bytes", "of all files", {64 << 10, 1 << 20, 4 << 20, 184 << 20, 672 << 20}};

// ---- the files ----

byte_vector make_document(workloads::random_numbers& random, std::size_t size) {
  byte_vector result(size);
  // Few letters, so that there is something to compress.
  for (std::uint8_t& each : result) each = static_cast<std::uint8_t>('a' + random.below(12));
  return result;
}

byte_vector make_file(std::uint64_t seed, std::size_t number, std::size_t size) {
  workloads::random_numbers common(seed, 1000), own(seed, number);
  std::vector<byte_vector> documents;
  for (int i = 0; i < 8; ++i) documents.push_back(make_document(common, 8000));
  byte_vector result;
  while (result.size() < size) {
    byte_vector next = documents[own.below(documents.size())];
    if (own.below(3) == 0) next[own.below(next.size())] = '!';
    if (own.below(4) == 0) next = make_document(own, 4000);
    result.insert(result.end(), next.begin(), next.end());
  }
  result.resize(size);
  return result;
}

// ---- the archive ----

constexpr std::size_t least_chunk = 512, most_chunk = 16384, window = 32;
constexpr std::uint64_t factor = 0x9e3779b97f4a7c15u, cut_mask = std::uint64_t{0x7ff} << 40;

constexpr std::uint64_t power(std::size_t exponent) {
  std::uint64_t result = 1;
  while (exponent-- > 0) result *= factor;
  return result;
}

// A cut depends on the `window` bytes before it alone: equal text has equal chunks wherever it is.
std::vector<bytes> cut_into_chunks(bytes file) {
  std::vector<bytes> result;
  std::uint64_t hash = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < file.size(); ++i) {
    hash = hash * factor + file[i];
    if (i >= window) hash -= power(window) * file[i - window];
    const std::size_t length = i + 1 - begin;
    const bool cut = (hash & cut_mask) == 0 && length >= least_chunk;
    if (!cut && length < most_chunk && i + 1 < file.size()) continue;
    result.push_back(file.subspan(begin, length));
    begin = i + 1;
  }
  return result;
}

byte_vector compress(bytes chunk) {
  uLongf size = ::compressBound(chunk.size());
  byte_vector result(size);
  if (::compress2(result.data(), &size, chunk.data(), chunk.size(), 6) != Z_OK)
    throw net::socket_error("zlib cannot compress");
  result.resize(size);
  return result;
}

struct archive {
  std::vector<std::vector<std::uint32_t>> files;  // which chunks each consists of
  std::vector<std::uint32_t> lengths;             // of each chunk
  std::vector<byte_vector> chunks;                // compressed
};

archive make_archive(const std::vector<byte_vector>& files, std::size_t threads) {
  std::vector<std::vector<bytes>> pieces(files.size());
  net::in_parallel(threads, [&](std::size_t thread) {
    for (std::size_t i = thread; i < files.size(); i += threads)
      pieces[i] = cut_into_chunks(files[i]);
  });
  archive result;
  std::vector<bytes> once;
  std::map<std::string_view, std::uint32_t> known;
  for (const std::vector<bytes>& file : pieces) {
    result.files.emplace_back();
    for (const bytes piece : file) {
      const std::string_view text(reinterpret_cast<const char*>(piece.data()), piece.size());
      const auto [at, is_new] = known.emplace(text, static_cast<std::uint32_t>(once.size()));
      if (is_new) once.push_back(piece);
      result.files.back().push_back(at->second);
    }
  }
  result.chunks.resize(once.size());
  net::in_parallel(threads, [&](std::size_t thread) {
    for (std::size_t i = thread; i < once.size(); i += threads)
      result.chunks[i] = compress(once[i]);
  });
  for (const bytes each : once) result.lengths.push_back(static_cast<std::uint32_t>(each.size()));
  return result;
}

byte_vector unpack(const archive& from, std::size_t file) {
  byte_vector result;
  for (const std::uint32_t chunk : from.files[file]) {
    uLongf length = from.lengths[chunk];
    byte_vector text(length);
    const byte_vector& packed = from.chunks[chunk];
    if (::uncompress(text.data(), &length, packed.data(), packed.size()) != Z_OK) return {};
    result.insert(result.end(), text.begin(), text.end());
  }
  return result;
}

// What the client is told: enough to compare with.
struct summary {
  std::uint64_t chunks = 0, kept = 0, packed_bytes = 0, checksum = 0;
  bool operator==(const summary&) const = default;
};

summary summarize(const archive& a) {
  summary result;
  uLong sum = ::crc32(0, nullptr, 0);
  for (const auto& file : a.files) {
    result.chunks += file.size();
    for (const std::uint32_t chunk : file)
      sum = ::crc32(sum, reinterpret_cast<const Bytef*>(&chunk), sizeof chunk);
  }
  result.kept = a.chunks.size();
  for (const byte_vector& each : a.chunks) {
    result.packed_bytes += each.size();
    sum = ::crc32(sum, each.data(), static_cast<uInt>(each.size()));
  }
  result.checksum = sum;
  return result;
}

class netdedup final : public net::network_program {
 public:
  explicit netdedup(const workloads::options& o)
      : seed_(o.number("seed")),
        received_(o.number("threads", 1)),
        file_bytes_(total.of(o) / received_.size() + 1) {}

  void send(std::size_t connection, net::socket& to) override {
    const byte_vector file = make_file(seed_, connection, file_bytes_);
    to.send(net::as_bytes(std::vector<std::uint64_t>{file.size()}));
    for (std::size_t at = 0; at < file.size(); at += block)
      to.send(bytes(file).subspan(at, std::min(block, file.size() - at)));
  }
  void read(std::size_t connection, net::peer& from) override {
    byte_vector file(from.read_number<std::uint64_t>());
    for (std::size_t at = 0; at < file.size(); at += block)
      from.read(std::span(file).subspan(at, std::min(block, file.size() - at)));
    received_[connection] = std::move(file);
  }
  void compute(std::size_t threads) override {
    const archive all = make_archive(received_, threads);
    found_ = summarize(all);
    for (std::size_t i = 0; i < received_.size(); ++i)
      if (unpack(all, i) != received_[i]) throw net::socket_error("the archive is damaged");
  }
  byte_vector answer(std::size_t) override {
    byte_vector result;
    net::append(result, found_);
    return result;
  }
  bool check(const std::vector<byte_vector>& answers) override {
    std::vector<byte_vector> files;
    for (std::size_t i = 0; i < answers.size(); ++i)
      files.push_back(make_file(seed_, i, file_bytes_));
    byte_vector expected;
    net::append(expected, summarize(make_archive(files, 1)));
    for (const byte_vector& each : answers)
      if (each != expected) return false;
    return true;
  }
  std::string results() override {
    return workloads::member("chunks", found_.chunks) + workloads::member("kept", found_.kept) +
           workloads::member("packed_bytes", found_.packed_bytes);
  }

 private:
  static constexpr std::size_t block = 64 << 10;  // given to the socket at once

  const std::uint64_t seed_;
  std::vector<byte_vector> received_;
  const std::size_t file_bytes_;
  summary found_;
};

}  // namespace

int main(int argc, char** argv) {
  const workloads::options o(
      argc, argv,
      "Client and server over a user-level TCP/IP stack: files are cut into chunks,\n"
      "deduplicated and compressed. Operations are bytes that the server has read, seconds the\n"
      "time that reading took.",
      net::network_options({total}));
  constexpr std::uint64_t most = std::uint64_t{1} << 34;  // all of it is kept in memory
  if (total.of(o) > most) o.refuse("--bytes is at most " + std::to_string(most));
  netdedup program(o);
  return net::run_network_program("netdedup", o, program);
}
