"""The sessions of classes, in the memory of this process behind one lock.

A session belongs to its lecturer, whose name is the secret that its other methods ask for, and has
a code that phones enter. A phone has a random key and nothing else. Of the votes of a round nobody
but the lecturer learns anything before the lecturer opens them, and the lecturer their number.
"""

import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping
from threading import Lock
from typing import Any

from icl_core.classroom.lots import Lot, Told
from icl_core.classroom.question import Question, Refused
from icl_core.classroom.session import ROUNDS, Allowance, Seen, Session, ShownStage
from icl_core.machine import limits

LETTERS = "BCDFHJKMPRTWXZ"  # no vowels, and none that looks like another
LIFETIME = 3600.0  # seconds without a sign of lecturer, phone or training: a session then ends
SILENCE = 30.0  # seconds without a request after which a phone's place is free
_CODE = re.compile("[A-Z]{4}")
_PHONE = re.compile("[A-Za-z0-9]{16,64}")
_FORMER_CODES = 200  # of sessions that have ended


class Sessions:
    """All sessions of this process. Every method may be called by any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._by_code: dict[str, Session] = {}
        self._former_codes: OrderedDict[str, None] = OrderedDict()

    def open(self, owner: str) -> str:
        """Return the code of the lecturer's session, which begins if there is none. Raises
        `Refused` where too many are open."""
        with self._lock:
            session = self._find_owned(owner)
            if session is None:
                if len(self._by_code) >= limits.CLASSES:
                    raise Refused(
                        f"This server holds {limits.CLASSES} classes at once, and so many are open."
                        " One ends an hour after its last sign.",
                        503,
                    )
                now = self._clock()
                requests = Allowance(*limits.CLASS_REQUESTS, now)
                session = Session(owner, self._new_code(), now, requests)
                self._by_code[session.code] = session
            return session.code

    def show(self, owner: str, question: Question) -> None:
        """Show a question in the lecturer's session; nothing changes if it is shown already."""
        with self._lock:
            session = self._owned(owner)
            if session.question == question:
                return
            self._set_aside(session)
            session.question = question
            session.number += 1

    def draw_lots(self, owner: str, lot: Lot) -> None:
        """Let phones draw from a lot, in place of a question. Who has drawn from the last lot keeps
        what they drew if this one has its key."""
        with self._lock:
            session = self._owned(owner)
            self._set_aside(session)
            session.question = None
            if session.lot is None or session.lot.key != lot.key:
                session.lot = lot
            session.number += 1

    def tell(
        self, owner: str, key: Hashable, told: Mapping[int, Told], asked: Collection[int]
    ) -> None:
        """Let the settings of the lot of that key say something, and note whose runs were asked
        for; nothing happens if there is no such lot any more."""
        with self._lock:
            session = self._find_owned(owner)
            if session is None or session.lot is None or session.lot.key != key:
                return
            lot = session.lot.with_told(told, asked)
            if lot.version != session.lot.version:
                session.last_sign = self._clock()
            session.lot = lot

    def open_answers(self, owner: str) -> None:
        """Open the votes of this round, which takes no more."""
        with self._lock:
            session = self._owned(owner)
            session.opened = session.question is not None

    def vote_again(self, owner: str) -> None:
        """Begin the second round, once the first one is open."""
        with self._lock:
            session = self._owned(owner)
            if session.opened and len(session.votes) < ROUNDS:
                session.votes.append({})
                session.opened = False

    def reveal(self, owner: str, key: str) -> None:
        """Let the right answer be marked wherever the votes are open, if the question of that key
        is shown."""
        with self._lock:
            session = self._find_owned(owner)
            if session is None or session.revealed or session.question is None:
                return
            if session.question.is_of(key):
                session.revealed = True
                session.version += 1
                session.last_sign = self._clock()

    def end(self, owner: str) -> None:
        """End the lecturer's session, if there is one."""
        with self._lock:
            session = self._find_owned(owner)
            if session is not None:
                self._forget(session)

    def has(self, owner: str) -> bool:
        """Return whether the lecturer has a session."""
        with self._lock:
            return self._find_owned(owner) is not None

    def seen(self, owner: str) -> Seen | None:
        """Return what the lecturer sees of their session; None if they have none."""
        with self._lock:
            session = self._find_owned(owner)
            if session is None:
                return None
            self._drop_silent_phones(session)
            return Seen(
                f"{session.id}-{session.number}",
                session.code,
                session.question,
                len(session.votes),
                session.opened,
                len(session.votes[-1]),
                len(session.phones),
                session.result(),
                session.revealed,
                tuple(session.former),
                session.has_stage,
                session.seen_stage() is not None,
                session.lot,
            )

    def put_stage(self, owner: str, on: bool) -> None:
        """Have the phones show the stage, or no longer; the next question or lot ends it."""
        with self._lock:
            session = self._owned(owner)
            session.has_stage = on
            session.stage = None

    def draw_stage(self, owner: str, stage: ShownStage | None) -> None:
        """Take the stage that the lecturer's page shows, if phones are to show it; None while that
        page has an open question."""
        with self._lock:
            session = self._find_owned(owner)
            if session is None or not session.has_stage or session.stage == stage:
                return
            session.stage = stage
            session.version += 1
            session.last_sign = self._clock()

    def scene(self, code: object, phone: object, name: object) -> bytes:
        """Return the scene of the stage of that name. Raises `Refused` if it is not shown."""
        with self._lock:
            session, _ = self._admitted(code, phone)
            stage = session.seen_stage()
            if stage is None or stage.name != name:
                raise Refused("The screen shows another stage by now.", 409)
            return stage.scene

    def state(self, code: object, phone: object, version: object = None) -> Mapping[str, Any]:
        """Return what a phone shows; its version alone if the phone has that. Raises `Refused`."""
        with self._lock:
            session, key = self._admitted(code, phone)
            state = session.state(key)
            return {"version": version} if state["version"] == version else state

    def vote(
        self, code: object, phone: object, number: object, round: object, answer: object
    ) -> Mapping[str, Any]:
        """Take a phone's answer to a question, by the question's number and round, in place of an
        earlier one in this round; return what the phone then shows. Raises `Refused`."""
        with self._lock:
            session, key = self._admitted(code, phone)
            if session.question is None or (number, round) != (session.number, len(session.votes)):
                raise Refused("This question is no longer shown: your answer does not count.", 409)
            if session.opened:
                raise Refused("The answers are open: this round takes no more.", 409)
            votes = session.votes[-1]
            vote = session.question.read(answer)
            if key not in votes and len(votes) >= limits.PHONES:
                raise Refused(_full(), 503)
            votes[key] = vote
            session.last_sign = self._clock()
            return session.state(key)

    def draw(self, code: object, phone: object, number: object) -> Mapping[str, Any]:
        """Draw a setting for a phone, from the lot of that number; return what the phone then
        shows. Raises `Refused`."""
        with self._lock:
            session, key = self._admitted(code, phone)
            if session.lot is None or session.question is not None or number != session.number:
                raise Refused("Settings are no longer drawn here.", 409)
            session.lot = session.lot.with_draw(key)
            session.last_sign = self._clock()
            return session.state(key)

    def _new_code(self) -> str:
        while True:
            code = "".join(secrets.choice(LETTERS) for _ in range(4))
            if code not in self._by_code:
                self._former_codes.pop(code, None)
                return code

    def _find_owned(self, owner: str) -> Session | None:
        self._end_old()
        sessions = self._by_code.values()
        return next((session for session in sessions if session.owner == owner), None)

    def _owned(self, owner: str) -> Session:
        """Return the lecturer's session for something that they do, which phones will see."""
        session = self._find_owned(owner)
        if session is None:
            raise Refused("Your class has ended.", 404)
        session.last_sign = self._clock()
        session.version += 1
        return session

    def _admitted(self, code: object, phone: object) -> tuple[Session, str]:
        """Return the session of a code and the phone's key, if its request may come."""
        if not isinstance(code, str) or not _CODE.fullmatch(code):
            raise Refused("A class has a code of four letters.", 400)
        if not isinstance(phone, str) or not _PHONE.fullmatch(phone):
            raise Refused("This phone sent no key of its own: load the page again.", 400)
        self._end_old()
        session = self._by_code.get(code)
        if session is None:
            has_ended = code in self._former_codes
            raise Refused(
                f"The class {code} has ended." if has_ended else f"There is no class {code} here.",
                410 if has_ended else 404,
            )
        now = self._clock()
        allowance = session.phones.get(phone)
        if allowance is None:
            self._drop_silent_phones(session)
            if len(session.phones) >= limits.PHONES:
                raise Refused(_full(), 503)
            allowance = Allowance(*limits.PHONE_REQUESTS, now)
            session.phones[phone] = allowance
        # a phone that asks too often takes nothing of the others'
        if not allowance.take(now):
            raise Refused("This phone asks too often. It goes on by itself in a moment.", 429)
        if not session.requests.take(now):
            raise Refused("Too many phones ask at once. This goes on by itself in a moment.", 429)
        return session, phone

    def _drop_silent_phones(self, session: Session) -> None:
        """Free the places of phones that no longer ask; their votes stay."""
        oldest = self._clock() - SILENCE
        session.phones = {
            phone: allowance
            for phone, allowance in session.phones.items()
            if allowance.since >= oldest
        }

    def _set_aside(self, session: Session) -> None:
        """Put the question shown among the former ones, if its votes were opened."""
        result = session.result()
        if result is not None:
            session.former.append(result)
        session.votes = [{}]
        session.opened = False
        session.revealed = False
        session.has_stage = False
        session.stage = None

    def _end_old(self) -> None:
        oldest = self._clock() - LIFETIME
        for session in list(self._by_code.values()):
            if session.last_sign < oldest:
                self._forget(session)

    def _forget(self, session: Session) -> None:
        del self._by_code[session.code]
        self._former_codes[session.code] = None
        while len(self._former_codes) > _FORMER_CODES:
            self._former_codes.popitem(last=False)


def _full() -> str:
    return f"A class takes {limits.PHONES} phones, and so many are there."


ALL = Sessions()  # of this process
