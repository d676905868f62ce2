"""How a program is started with our libraries in it: environments, policies."""
