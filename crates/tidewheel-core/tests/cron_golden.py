#!/usr/bin/env python3
"""Writes src/calendar/golden.txt: rows of expression, zone, start and the next five instants.

Shares nothing with the Rust code: it tries every minute against Python's calendar and zoneinfo.
Usage: python3 tests/cron_golden.py > src/calendar/golden.txt
"""

import calendar
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

UTC = timezone.utc
MINUTE = timedelta(minutes=1)
HALF_HOUR = timedelta(minutes=30)
STAMP = "%Y-%m-%dT%H:%MZ"

EVERYDAY = ["*/15 * * * *", "0 * * * *", "30 1 * * *", "30 2 * * *", "0 3 * * *", "0,30 2 * * *",
            "*/30 1-3 * * *", "15 0-23 * * *", "0 */2 * * *", "5 0 * * *", "45 23 * * *",
            "10 2 * * sun"]
CHANGES = [
    ("Europe/London", "2025-03-30T01:00Z"), ("Europe/London", "2025-10-26T01:00Z"),
    ("America/New_York", "2025-03-09T07:00Z"), ("America/New_York", "2025-11-02T06:00Z"),
    ("Australia/Lord_Howe", "2025-10-04T15:30Z"), ("Australia/Lord_Howe", "2025-04-05T15:00Z"),
    ("America/Sao_Paulo", "2018-11-04T03:00Z"), ("America/Sao_Paulo", "2018-02-18T02:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00Z"), ("Africa/Cairo", "2025-04-24T22:00Z"),
    ("Africa/Cairo", "2025-10-30T21:00Z"), ("Antarctica/Troll", "2025-03-30T01:00Z"),
]
CALENDAR = ["0 0 29 2 *", "0 12 31 * *", "0 0 L * *", "0 9 L-1 * *", "30 17 LW * *", "0 8 15W * *",
            "0 8 1W * *", "0 8 31W * *", "0 6 * * mon#1", "0 6 * * fri#5", "0 6 * * 5L",
            "0 6 * * sun#L", "0 0 13 * fri", "0 0 13 * +fri", "0 0 */2 * mon", "0 0 1-7 * */7",
            "0 12 1 1 *", "0 0 1,15 * wed", "0 0 30 4,6 *", "0 7 * 2 sat-sun", "0 0 * * 1-5",
            "59 23 31 12 *", "0 0 10-20/5 * *", "0 0 1/10 * *"]
STARTS = [("UTC", "2023-12-31T23:59Z"), ("UTC", "2024-02-28T12:00Z"), ("UTC", "2099-06-15T00:00Z"),
          ("Europe/London", "2025-06-30T22:30Z"), ("America/New_York", "2026-01-31T12:00Z"),
          ("Australia/Lord_Howe", "2024-02-29T13:00Z"), ("America/Sao_Paulo", "2016-02-01T00:00Z"),
          ("Pacific/Apia", "2011-11-30T00:00Z")]
MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
WEEKDAYS = {name: number for number, name in enumerate("sun mon tue wed thu fri sat".split())}


def numbers(field, low, high, names=None):
    def number(text):
        return names[text.lower()] if names and text.lower() in names else int(text)

    found = set()
    for item in field.split(","):
        body, _, step = item.partition("/")
        if body == "*":
            first, last = low, high
        elif "-" in body:
            first, last = (number(part) for part in body.split("-"))
            last = 7 if names is WEEKDAYS and last == 0 else last
        else:
            first = number(body)
            last = high if step else first
        found.update(range(first, last + 1, int(step or 1)))
    return found


class Row:
    def __init__(self, expression, zone):
        minute, hour, self.day, month, self.weekday = expression.split()
        self.minutes, self.hours = numbers(minute, 0, 59), numbers(hour, 0, 23)
        self.months = numbers(month, 1, 12, MONTHS)
        self.rhythm = "*" in (minute[0], hour[0])
        self.zone, self.known = ZoneInfo(zone), {}

    def day_matches(self, date):
        if date not in self.known:
            dom, dow = self.by_day(date), self.by_weekday(date)
            both = self.day[0] == "*" or self.weekday[0] in "*+"
            self.known[date] = date.month in self.months and ((dom and dow) if both else (dom or dow))
        return self.known[date]

    def by_day(self, date):
        last = calendar.monthrange(date.year, date.month)[1]
        if self.day == "LW" or self.day.endswith("W"):
            wanted = last if self.day == "LW" else int(self.day[:-1])
            if wanted > last:
                return False
            weekdays = [d for d in range(1, last + 1)
                        if calendar.weekday(date.year, date.month, d) < 5]
            return date.day == min(weekdays, key=lambda d: abs(d - wanted))
        if self.day.startswith("L"):
            return date.day == last - int(self.day[2:] or 0)
        return date.day in numbers(self.day, 1, 31)

    def by_weekday(self, date):
        text, today = self.weekday.lstrip("+").lower(), date.isoweekday() % 7
        last = calendar.monthrange(date.year, date.month)[1]
        if "#" in text or text.endswith("l"):
            name, _, nth = text.partition("#") if "#" in text else (text[:-1], "", "l")
            if today not in {number % 7 for number in numbers(name, 0, 7, WEEKDAYS)}:
                return False
            return date.day + 7 > last if nth == "l" else (date.day + 6) // 7 == int(nth)
        return today in {number % 7 for number in numbers(text, 0, 7, WEEKDAYS)}

    def matches(self, local):
        return (local.minute in self.minutes and local.hour in self.hours
                and self.day_matches(local.date()))

    def instants(self, start):
        def local_of(at):
            return at.astimezone(self.zone).replace(tzinfo=None)

        at = start - timedelta(days=1)
        before = reached = local_of(at)
        while True:
            idle = at.minute % 30 == 0 and not self.rhythm and not any(
                self.day_matches((local_of(at) + timedelta(days=d)).date()) for d in (-1, 0, 1))
            step = HALF_HOUR if idle else MINUTE
            at += step
            local = local_of(at)
            fires = self.matches(local) and (self.rhythm or local > reached)
            if not self.rhythm and local - before > step:
                skipped = before + MINUTE
                while skipped < local:
                    fires = fires or self.matches(skipped)
                    skipped += MINUTE
            before, reached = local, max(reached, local)
            if fires and at > start:
                yield at


def row(expression, zone, start):
    found = Row(expression, zone).instants(start)
    five = " ".join(next(found).strftime(STAMP) for _ in range(5))
    print(expression, zone, start.strftime(STAMP), five, sep=" | ")


def instant(text):
    return datetime.strptime(text, STAMP).replace(tzinfo=UTC)


def main():
    print("# Written by tests/cron_golden.py (brute force, zoneinfo 2025b): do not edit.")
    for zone, change in CHANGES:
        for expression in EVERYDAY:
            for ahead in (timedelta(hours=3), timedelta(minutes=1), timedelta(minutes=-20)):
                row(expression, zone, instant(change) - ahead)
    for zone, start in STARTS:
        for expression in CALENDAR:
            row(expression, zone, instant(start))


main()
