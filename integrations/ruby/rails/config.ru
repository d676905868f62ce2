require_relative "books"
run Rails.application
