"""The calls of a server over HTTP, by the standard library."""

import json
from http.client import HTTPException
from typing import Any, Dict, List, Optional, Sequence
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener


class Fault(Exception):
    """An error that the server answered. Its code is one of the document's ErrorCode."""

    def __init__(self, status: int, error: Dict[str, Any], request_id: str, retry_after: Optional[int]) -> None:
        self.status = status
        self.code: str = error["code"]
        self.message: str = error["message"]
        self.details: List[Dict[str, str]] = error.get("details") or []
        self.request_id = request_id
        """Names the request in the server's log."""
        self.retry_after = retry_after
        """Seconds to wait before the same call, if the server said so."""
        super().__init__(f"{self.code}: {self.message}")


class Unreachable(Exception):
    """No answer of a Parley server: it may have received the call or not."""


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> None:
        return None  # a key must not follow one


class Transport:
    """Calls a server at a URL such as https://parley.example.org, with a key."""

    def __init__(self, url: str, key: str, timeout: float = 90) -> None:
        url = url.rstrip("/")
        self._url = url[:-4] if url.endswith("/mcp") else url
        if not self._url.startswith(("https://", "http://")):
            raise ValueError(f"the URL of a server begins with https:// or http://, unlike {url!r}")
        self._key = key
        self._timeout = timeout
        self._opener = build_opener(_NoRedirect)

    def call(self, method: str, path: str, arguments: Dict[str, Any], places: Sequence[str]) -> Any:
        """Call a route, and return the data of its answer. Places are the arguments that belong into the path."""
        rest = dict(arguments)
        for name in places:
            path = path.replace("{" + name + "}", quote(str(rest.pop(name)), safe=""))
        body = None
        if method in ("GET", "DELETE"):
            query = {name: _plain(value) for name, value in rest.items()}
            path += "?" + urlencode(query, doseq=True) if query else ""
        else:
            body = json.dumps(rest).encode()
        request = Request(self._url + path, body, method=method, headers={
            "Authorization": "Bearer " + self._key, "Content-Type": "application/json", "Accept": "application/json"})
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                return json.loads(response.read())["data"]
        except HTTPError as e:
            raise _fault(e) from None
        except (URLError, HTTPException, OSError, ValueError, KeyError) as e:
            raise Unreachable(f"{method} {self._url}{path}: {e}") from e


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value


def _fault(e: HTTPError) -> Exception:
    text = e.read()
    try:
        answer = json.loads(text)
        after = e.headers.get("Retry-After", "")
        return Fault(e.code, answer["error"], answer["meta"]["requestId"], int(after) if after.isdigit() else None)
    except (ValueError, KeyError, TypeError):
        return Unreachable(f"HTTP {e.code}, which is no answer of Parley: {text[:200]!r}")
