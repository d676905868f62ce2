"""The parts of `syncopate tune`: what to try, the search, runs of the program, the policy file."""
