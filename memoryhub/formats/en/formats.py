"""Dates that sort and read alike everywhere: the year first, and the time of day with its zone.

Here stands what Django's own pages write: lists, fields that are only read, logs of changes. What these formats do not
name is as Django has it.
"""

DATE_FORMAT = SHORT_DATE_FORMAT = "Y-m-d"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = SHORT_DATETIME_FORMAT = "Y-m-d H:i T"
YEAR_MONTH_FORMAT = "Y-m"
MONTH_DAY_FORMAT = "m-d"
