"""German formats, by the names of the English ones. Fields are filled in as ISO dates, which date pickers take."""

DATE_FORMAT = SHORT_DATE_FORMAT = "d.m.Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = SHORT_DATETIME_FORMAT = "d.m.Y, H:i T"
YEAR_MONTH_FORMAT = "F Y"
MONTH_DAY_FORMAT = "j. F"
DATE_INPUT_FORMATS = ["%Y-%m-%d", "%d.%m.%Y", "%d.%m.%y"]
DATETIME_INPUT_FORMATS = ["%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M"]

DAY = "j. M"
DAY_AND_YEAR = "j. M Y"
DAY_AND_TIME = "j. M, H:i"
MOMENT = "j. M Y, H:i"
TO_THE_SECOND = "j. M Y, H:i:s e"
WEEKDAY = "l, j. F"
WEEKDAY_AND_YEAR = "l, j. F Y"
IN_FULL = "l, j. F Y, H:i T"
MONTH = "F"
MONTH_AND_YEAR = "F Y"
PERCENT = "{}\N{NO-BREAK SPACE}%"
