"""Reading a request's body: JSON in UTF-8, of a bounded size and depth. Whatever else comes is said to be so."""

from __future__ import annotations

import json
from typing import IO, Any, NoReturn

from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser

MAX_BODY_BYTES = 1024 * 1024
"""The longest text that can be stored fits several times over, however it is escaped."""


class BodyTooLarge(APIException):
    """The body is larger than anything that could be stored."""

    status_code = 413
    default_detail = f"The body is larger than {MAX_BODY_BYTES:,} bytes."
    default_code = "body-too-large"


class LengthRequired(APIException):
    """The body comes in chunks, so its length is not known beforehand."""

    status_code = 411
    default_detail = "Send the body with a Content-Length."
    default_code = "length-required"


class JsonParser(BaseParser):
    """RFC 8259: UTF-8, no NaN or Infinity."""

    media_type = "application/json"

    def parse(self, stream: IO[Any], *_: object, **__: object) -> Any:
        """The value of the body. Raises BodyTooLarge, or ParseError saying where the JSON breaks."""
        body = stream.read(MAX_BODY_BYTES + 1)
        if len(body) > MAX_BODY_BYTES:
            raise BodyTooLarge
        try:
            return json.loads(body.decode(), parse_constant=_refuse_constant)
        except json.JSONDecodeError as error:
            raise ParseError(f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from error
        except UnicodeDecodeError as error:
            raise ParseError("is not UTF-8.") from error
        except RecursionError as error:
            raise ParseError("is nested too deeply.") from error
        except ValueError as error:
            raise ParseError("holds a number that cannot be read.") from error


def _refuse_constant(_: str) -> NoReturn:
    raise ValueError
