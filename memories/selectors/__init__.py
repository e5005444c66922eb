"""Selectors: functions that read memories on behalf of a principal, of staff, or of a background job."""
