"""`syncopate bench`: suites of programs, interleaved runs, comparisons, the papers' figures."""
