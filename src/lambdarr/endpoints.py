"""Endpoints that randomize: records are posted, reports come back, and whatever goes wrong is said in one sentence."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from lambdarr.errors import DataError, DesignError, SourceError

SECONDS = 60
"""How long an endpoint may take for one call."""

_REMEDIES = {
    401: "it asks who calls; let this measurement in, with a token in the address if it takes one",
    403: "it does not let this measurement in; allow it, with a token in the address if it takes one",
    404: "there is nothing at this path; correct the address",
    405: "it does not take POST at this path; records are sent as a JSON array by POST",
    413: "it takes no bodies of this size; raise its limit to a megabyte",
    429: "it limits how often it is called; lift the limit for the measurement",
}


def name_of(address: str) -> str:
    """Return an address without what may be secret in it: a password, a token."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        msg = "randomizer must be an http:// or https:// address if it is a text; give a function itself"
        raise DesignError(msg)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def posted(address: str, records: list[dict[str, Any]]) -> Any:
    """Return what an endpoint answers to a JSON array of records, or say what is wrong with it and what to do."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    name, body = name_of(address), json.dumps(records, ensure_ascii=False).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    try:
        with urlopen(Request(address, data=body, headers=headers), timeout=SECONDS) as response:
            answer = response.read()
    except HTTPError as error:
        error.close()
        msg = f"{name} answered with status {error.code}; {_remedy(error.code)}"
        raise SourceError(msg) from None
    except (HTTPException, OSError, ValueError) as error:
        raise SourceError(_unreached(name, getattr(error, "reason", error), len(records))) from None
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        got = "this is no JSON" if answer else "this is empty"
        msg = f"{name} must answer with a JSON array of reports, and {got}; is it the right address?"
        raise DataError(msg) from None


def _remedy(status: int) -> str:
    if status >= 500:
        return "it failed; its own log says why"
    if 300 <= status < 400:
        return "it is elsewhere; give the address that it sends to"
    return _REMEDIES.get(status, "it must take a JSON array of records, as dicts from attribute to answer, by POST")


def _unreached(name: str, cause: object, rows: int) -> str:
    """Return in words why there was no answer."""
    import socket
    import ssl

    match cause:
        case ConnectionRefusedError():
            return f"cannot reach {name}: nothing listens there; start the endpoint, or correct the address and port"
        case socket.gaierror():
            return f"cannot reach {name}: there is no such host; correct the address"
        case TimeoutError():
            return (
                f"{name} gave no answer to {rows:,} records within {SECONDS} seconds; is it busy? Make it faster, or "
                "measure the function behind it"
            )
        case ssl.SSLError():
            return f"cannot reach {name}: its certificate is not trusted; mend it, or use http:// on this machine"
        case _:
            return f"{name} broke off without an answer ({type(cause).__name__}); its own log may say why"
