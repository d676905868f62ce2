"""A lock's numbers that are of OpenMP's teams: docs/reference/report-schema.md. In nanoseconds."""

from __future__ import annotations

from syncopate.records.analysis import Analysis
from syncopate.records.teams import Team


class TeamFigures:
    """Of one barrier, or of the end of a region (`at_end`)."""

    def __init__(self, analysis: Analysis, team: Team, at_end: bool):
        self.of = analysis
        self.team = team
        self.at_end = at_end

    def as_data(self) -> dict:
        return {
            "arrivals": [] if self.at_end else self._arrivals(),
            "region_ends": self._region_ends() if self.at_end else [],
            "work": self._work(),
        }

    def _arrivals(self) -> list[dict]:
        latest_first = sorted(self.team.arrivals.items(), key=lambda each: -each[1][1])
        return [
            {"thread": self.of.label(thread), "waited_ns": self.of.ns(ticks), "last": last}
            for thread, (ticks, last) in latest_first
        ]

    def _region_ends(self) -> list[dict]:
        waited = self.team.kept_waiting
        worst_first = sorted(self.team.arrivals.items(), key=lambda each: -waited[each[0]])
        return [
            {
                "thread": self.of.label(thread),
                "last": last,
                "others_waited_ns": self.of.ns(waited[thread]),
            }
            for thread, (_, last) in worst_first
        ]

    def _work(self) -> list[dict]:
        """Who had most work first."""
        uneven = self.team.more_work
        most_first = sorted(self.team.at_work.items(), key=lambda x: (-uneven[x[0]], -x[1][1]))
        return [
            {
                "thread": self.of.label(thread),
                "times": times,
                "last": self.team.arrivals[thread][1] if thread in self.team.arrivals else 0,
                "at_work_ns": self.of.ns(ticks),
                "uneven_ns": self.of.ns(uneven[thread]),
            }
            for thread, (times, ticks) in most_first
        ]
