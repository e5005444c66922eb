"""Formats of dates in Django's own pages: ISO date, 24-hour time with its zone; then those of the product's pages.

Every language has the same names; `memories/presenting/lines.py` and `memories/presenting/markup.py` use them.
"""

DATE_FORMAT = SHORT_DATE_FORMAT = "Y-m-d"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = SHORT_DATETIME_FORMAT = "Y-m-d H:i T"
YEAR_MONTH_FORMAT = "Y-m"
MONTH_DAY_FORMAT = "m-d"

DAY = "j M"
DAY_AND_YEAR = "j M Y"
DAY_AND_TIME = "j M, H:i"
MOMENT = "j M Y, H:i"
TO_THE_SECOND = "j M Y, H:i:s e"
WEEKDAY = "l j F"
WEEKDAY_AND_YEAR = "l j F Y"
IN_FULL = "l j F Y, H:i T"
MONTH = "F"
MONTH_AND_YEAR = "F Y"
PERCENT = "{}%"
