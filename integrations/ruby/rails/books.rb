# books.rb -- a Rails application like the paper's: a list of books from a database, as a Rack
# application. BOOKS_DB names the file of the database, which is made anew.
require "logger"
require "action_controller/railtie"
require "active_record/railtie"

ENV["DATABASE_URL"] = "sqlite3:#{ENV.fetch("BOOKS_DB")}?pool=16&timeout=60000"

class Books < Rails::Application
  config.root = __dir__
  config.eager_load = true
  config.cache_classes = true
  config.secret_key_base = "0" * 64
  config.logger = Logger.new(File::NULL)
  config.hosts.clear
  routes.append do
    root to: "books#index"
    get "/book/:id", to: "books#show"
    post "/book", to: "books#create"
    get "/counts", to: "books#counts"
  end
end
Books.initialize!

# The gem sqlite3 waits for a locked file with Ruby's lock held: who reads is not to wait for who
# writes (WAL), nor two who write for each other (WRITING).
WRITING = Mutex.new
ActiveRecord::Base.connection.execute("PRAGMA journal_mode=WAL")
ActiveRecord::Migration.verbose = false
ActiveRecord::Schema.define do
  create_table(:books, force: true) do |table|
    table.string :title
    table.string :author
    table.integer :pages
  end
end

class Book < ActiveRecord::Base
  validates :title, presence: true
end
20.times { |i| Book.create!(title: "Title #{i}", author: "Author <#{i % 5}>", pages: 100 + i) }

class BooksController < ActionController::Base
  PAGE = <<~ERB
    <html><body><h1>Books</h1><table><% @books.each do |b| %>
    <tr><td><%= b.title %></td><td><%= b.author %></td><td><%= b.pages %></td></tr><% end %>
    </table></body></html>
  ERB

  def index
    @books = Book.order(:id).limit(20).to_a
    render inline: PAGE
  end

  def show
    book = Book.find(params[:id])
    render json: { title: book.title, pages: book.pages }
  end

  def create
    book = WRITING.synchronize { Book.create!(title: params[:title], author: "you", pages: 1) }
    render json: { id: book.id, title: book.title }
  end

  def counts # for soak.py
    GC.start
    render json: { objects: GC.stat(:heap_live_slots), threads: Thread.list.size }
  end
end
