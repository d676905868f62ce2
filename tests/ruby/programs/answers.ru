# answers.ru -- a Rack application: pages of 46 bytes, each with its number, made of some objects.
run(lambda do |env|
  number = env["PATH_INFO"].delete_prefix("/")
  parts = ["<html>", "<body>", number, "</body>", "</html>"].map(&:to_s)
  [200, { "Content-Type" => "text/html" }, [parts.join.ljust(46)]]
end)
