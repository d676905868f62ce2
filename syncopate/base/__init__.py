"""What every other package uses: failures, options, units, files read with bounds, tables."""
