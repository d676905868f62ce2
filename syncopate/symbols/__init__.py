"""From addresses to names: ELF files, debug information, demangling."""
