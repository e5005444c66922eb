"""Spanish formats, by the names of the English ones. Fields are filled in as ISO dates, which date pickers take."""

DATE_FORMAT = SHORT_DATE_FORMAT = "d/m/Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = SHORT_DATETIME_FORMAT = "d/m/Y, H:i T"
YEAR_MONTH_FORMAT = r"F \d\e Y"
MONTH_DAY_FORMAT = r"j \d\e F"
DATE_INPUT_FORMATS = ["%Y-%m-%d", "%d/%m/%Y", "%d/%m/%y"]
DATETIME_INPUT_FORMATS = ["%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%d/%m/%Y %H:%M:%S", "%d/%m/%Y %H:%M"]

DAY = "j b"
DAY_AND_YEAR = "j b Y"
DAY_AND_TIME = "j b, H:i"
MOMENT = "j b Y, H:i"
TO_THE_SECOND = "j b Y, H:i:s e"
WEEKDAY = r"l, j \d\e F"
WEEKDAY_AND_YEAR = r"l, j \d\e F \d\e Y"
IN_FULL = r"l, j \d\e F \d\e Y, H:i T"
MONTH = "F"
MONTH_AND_YEAR = r"F \d\e Y"
PERCENT = "{}\N{NO-BREAK SPACE}%"
