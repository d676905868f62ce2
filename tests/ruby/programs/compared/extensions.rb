# Extension libraries in several threads, with what calls Ruby back from foreign libraries: libyaml
# that reads from and writes to objects of Ruby's, OpenSSL's verification, zlib with blocks.
require "zlib"
require "json"
require "psych"
require "openssl"
require "date"
require "strscan"
require "stringio"
require "digest"
require "socket"
require "bigdecimal"
require "ripper"

# Not an IO: the library calls these methods.
class Source
  def initialize(text) = (@text, @at = text, 0)
  def external_encoding = Encoding::UTF_8
  def read(most)
    piece = @text.byteslice(@at, [most, 7].min)
    @at += piece.bytesize
    [piece].map { |x| x.empty? ? nil : x }.first
  end
end

class Sink
  attr_reader :text
  def initialize = @text = +""
  def write(piece) = (piece.each_char { |c| @text << c }; piece.size)
end

KEY = OpenSSL::PKey::RSA.new(1024)
CERTIFICATE = OpenSSL::X509::Certificate.new.tap do |c|
  c.version, c.serial = 2, 1
  c.subject = c.issuer = OpenSSL::X509::Name.parse("/CN=here")
  c.public_key, c.not_before, c.not_after = KEY.public_key, Time.now - 100, Time.now + 10_000
  c.sign(KEY, OpenSSL::Digest.new("SHA256"))
end

def encrypted(text)
  one, other = UNIXSocket.pair
  server = OpenSSL::SSL::SSLContext.new.tap { |c| c.security_level = 0; c.cert, c.key = CERTIFICATE, KEY }
  asked = []
  client = OpenSSL::SSL::SSLContext.new.tap do |c|
    c.security_level = 0
    c.verify_mode = OpenSSL::SSL::VERIFY_PEER
    c.verify_callback = ->(_, store) { 20.times.map { |i| "#{i}" }.join; asked << store.error_depth; true }
  end
  echo = Thread.new do
    s = OpenSSL::SSL::SSLSocket.new(one, server).accept
    s.puts s.gets.chomp.reverse
    s.close
  end
  s = OpenSSL::SSL::SSLSocket.new(other, client).connect
  s.puts text
  [s.gets.chomp, asked.uniq].tap { s.close; echo.join }
end

def work(k)
  out = []
  data = Array.new(12) { |i| { "n#{i}" => [i * k, "t" * i, i.odd?, nil, i * 0.5] } }
  2.times do |i|
    text = data.to_yaml
    out << (Psych.safe_load(Source.new(text)) == data)
    sink = Sink.new
    Psych.dump(data, sink)
    out << (sink.text == text)
    out << Psych.parse_stream(Source.new("- a\n- [b, {c: #{k}}]\n")).to_ruby.inspect
    out << (begin; Psych.load(Source.new("a: [1")); rescue Psych::SyntaxError => e; e.line; end)
    out << (JSON.parse(JSON.pretty_generate(data)) == data) << JSON.generate(data).size
    pieces = []
    deflated = +""
    z = Zlib::Deflate.new
    z.deflate(text * 20) { |piece| deflated << piece }
    deflated << z.finish
    z.close
    inflate = Zlib::Inflate.new
    deflated.each_char.each_slice(50) { |s| inflate.inflate(s.join) { |piece| pieces << piece } }
    out << (pieces.join == text * 20) << inflate.finished?
    inflate.close
    packed = StringIO.new
    Zlib::GzipWriter.wrap(packed) { |w| 30.times { |n| w.puts "line #{n * k}" }; w.finish }
    out << Zlib::GzipReader.new(StringIO.new(packed.string)).each_line.map(&:size).sum
    out << encrypted("hello #{k} #{i}")
    cipher = OpenSSL::Cipher.new("aes-128-cbc").encrypt.tap { |c| c.key = "k" * 16; c.iv = "i" * 16 }
    sealed = cipher.update("secret #{k}") + cipher.final
    out << OpenSSL::HMAC.hexdigest("SHA256", "key", sealed)
    out << Digest::SHA256.hexdigest(text)[0, 8] << Digest::MD5.base64digest("#{k}") << OpenSSL::BN.new(k + 3).mod_exp(77, 1009).to_i
    day = Date.new(2026, 1, 31) >> k
    out << day.iso8601 << (DateTime.parse("2026-11-28T10:0#{k}:00+02:00") - day.to_datetime).to_s
    s = StringScanner.new("a=1;bb=22;ccc=#{k}")
    found = []
    found << [s[1], s[2]] while s.scan(/(\w+)=(\d+);?/)
    out << found << s.eos?
    out << (BigDecimal("1") / (k + 7)).round(20).to_s << BigDecimal(2).sqrt(15).to_s[0, 18]
    out << Ripper.sexp("x = [#{k}, 'a']").flatten.size << Ripper.lex("def f(a) = a + #{k}").size
  end
  out
end

wanted = 3.times.map { |k| work(k) }
got = 3.times.map { |k| Thread.new { work(k) } }.map(&:value)
puts got.zip(wanted).map { |a, b| a == b ? "same" : "#{a.inspect} not #{b.inspect}" }
puts wanted.map(&:inspect)
