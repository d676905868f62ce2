"""What people see: text, pages, traces, screens."""
