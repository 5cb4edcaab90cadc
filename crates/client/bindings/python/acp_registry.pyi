# Types of acp_registry.py, for type checkers. Later versions may add members.

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from subprocess import Popen
from types import TracebackType
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

from typing_extensions import NotRequired, Self, TypedDict

_Result = TypeVar("_Result")

class RpcError(Exception):
    code: int
    data: ErrorData

class Call(Generic[_Result]):
    future: Future[_Result]
    def result(self, timeout: float | None = None) -> _Result: ...
    def cancel(self) -> None: ...

class Registry(_Requests):
    def __init__(
        self, args: Sequence[str] = (), program: str | None = None, env: Mapping[str, str] | None = None
    ) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

def launch(agent: Mapping[str, object], **options: Any) -> Popen[bytes]: ...

# Generated from schemas/cli/ by generate_types.py.

class InitializeParams(TypedDict):
    """
    The parameters, by name. May be absent.
    """


class InitializeDocument(TypedDict):
    """
    Which program this is.
    """

    schema: Literal[1]
    command: Literal['initialize']
    name: Literal['acp-registry']
    version: str
    protocol_version: int
    methods: list[str]


class ListParams(TypedDict):
    """
    The parameters, by name. May be absent.
    """

    installed: NotRequired[bool | None]
    refresh: NotRequired[bool | None]


class IndexSigned(TypedDict):
    """
    Who has signed it; absent where the registry signs nothing.
    """

    signer: str
    sequence: int
    expires_at: str


class Index(TypedDict):
    """
    The index that the document is made from.
    """

    source: str
    sha256: str
    fetched_at: str | None
    stale: bool
    signed: NotRequired[IndexSigned]


Kind: TypeAlias = Literal['npx', 'uvx', 'binary']


Verified: TypeAlias = Literal['manifest', 'github', 'lock', 'npm', 'pypi', 'none']


class ProvenancePublisher(TypedDict):
    """
    The workflow that has built it.
    """

    issuer: str
    repository: str
    repository_id: NotRequired[str]
    workflow: str


class Provenance(TypedDict):
    """
    Who has built it, as a checked attestation says; absent where that was not required.
    """

    publisher: ProvenancePublisher
    logged: bool
    hosted: bool


class Held(TypedDict):
    """
    A version that the maintainers of the registry hold.
    """

    version: str
    until: str | None
    reason: str


class Revocation(TypedDict):
    """
    What the registry says of a version that it has recalled.
    """

    level: Literal['revoked', 'deprecated']
    reason: str
    since: str | None


Code: TypeAlias = Literal[
    'findings',
    'usage',
    'unknown_agent',
    'unknown_version',
    'unknown_rule',
    'not_installed',
    'unsupported_platform',
    'unsupported_distribution',
    'invalid_configuration',
    'invalid_registry',
    'index_unavailable',
    'invalid_index',
    'offline',
    'missing_runtime',
    'package_not_found',
    'held_by_cooldown',
    'install_failed',
    'cmd_not_found',
    'locked',
    'damaged',
    'running',
    'failed',
    'digest_mismatch',
    'unsafe_archive',
    'changed',
    'lock_mismatch',
    'revoked',
    'unsigned',
    'signature_invalid',
    'statement_expired',
    'statement_older',
    'provenance_missing',
    'provenance_mismatch',
    'provenance_weaker',
    'publisher_changed',
    'refused',
    'interrupted',
]


class Failure(TypedDict):
    """
    Why a command failed.
    """

    code: Code
    exit_code: int
    message: str
    help: str | None
    suggestions: list[str]


class ListAgent(TypedDict):
    """
    An agent. Null: the index does not state it, or there is no index.
    """

    id: str
    version: str
    distribution: NotRequired[Kind]
    platform: NotRequired[str | None]
    program: NotRequired[str | None]
    args: NotRequired[list[str]]
    env: NotRequired[dict[str, str]]
    installed: bool
    install_dir: NotRequired[str]
    archive: NotRequired[str | None]
    package: NotRequired[str | None]
    sha256: NotRequired[str | None]
    integrity: NotRequired[str | None]
    verified: NotRequired[Verified]
    index_sha256: NotRequired[str | None]
    path: NotRequired[list[str]]
    installed_at: NotRequired[str | None]
    size: NotRequired[int]
    scripts_not_run: NotRequired[list[str]]
    scripts_ignored_by: NotRequired[str | None]
    answers: NotRequired[bool | None]
    provenance: NotRequired[Provenance]
    name: str | None
    description: str | None
    license: str | None
    icon: str | None
    distributions: list[Kind] | None
    platforms: list[str] | None
    available_version: str | None
    installed_version: str | None
    pinned: bool
    held: NotRequired[Held]
    revocation: NotRequired[Revocation]


class SearchParams(TypedDict):
    """
    The parameters, by name.
    """

    query: str
    refresh: NotRequired[bool | None]


class SearchAgent(TypedDict):
    """
    An agent. Null: the index does not state it.
    """

    id: str
    version: str
    name: str | None
    description: str | None
    license: str | None
    icon: str | None
    distributions: list[Kind] | None
    platforms: list[str] | None
    available_version: str | None
    installed: bool
    installed_version: str | None
    pinned: bool
    held: NotRequired[Held]


class SearchDocument(TypedDict):
    """
    The agents that match.
    """

    schema: Literal[1]
    command: Literal['search']
    index: Index
    index_sha256: str
    agents: list[SearchAgent]
    notes: list[str]


class InfoParams(TypedDict):
    """
    The parameters, by name.
    """

    agent: str
    refresh: NotRequired[bool | None]
    versions: NotRequired[bool | None]
    permissions: NotRequired[str | None]


class InfoInstalledVersion(TypedDict):
    version: str
    distribution: Kind
    verified: Verified
    install_dir: str
    size: int
    installed_at: str | None
    current: bool
    revocation: NotRequired[Revocation]


class InfoPermissions(TypedDict):
    """
    What the installed agent may touch in `run --sandbox` from the working directory; with `--permissions`.
    """

    writes: list[str]
    reads: list[str]
    network: Literal['shared', 'none']
    variables: dict[str, str]
    hidden_variables: list[str]
    obstacle: str | None


class InfoVersion(TypedDict):
    version: str
    since: str | None
    installed: bool


class InfoDocument(TypedDict):
    """
    What the index says of an agent, and what of it is installed.
    """

    schema: Literal[1]
    command: Literal['info']
    id: str
    version: str
    known_from: (
        Literal['installed', 'lock', 'preview', 'index', 'history', 'package'] | None
    )
    agent: dict[str, Any]
    installed: bool
    installed_versions: list[InfoInstalledVersion]
    pinned: bool
    held: NotRequired[Held]
    permissions: NotRequired[InfoPermissions]
    index_sha256: str
    versions: NotRequired[list[InfoVersion]]
    index: Index


class ResolveParams(TypedDict):
    """
    The parameters, by name.
    """

    agent: str
    dist: NotRequired[Literal['npx', 'uvx', 'binary'] | None]
    refresh: NotRequired[bool | None]


class ResolveDocument(TypedDict):
    """
    What would be installed, and how it is started.
    """

    id: str
    version: str
    distribution: Kind
    platform: str | None
    program: str | None
    args: list[str]
    env: dict[str, str]
    installed: bool
    install_dir: str
    archive: str | None
    package: str | None
    sha256: str | None
    integrity: str | None
    verified: Verified
    index_sha256: str | None
    path: NotRequired[list[str]]
    installed_at: NotRequired[str | None]
    size: NotRequired[int]
    scripts_not_run: NotRequired[list[str]]
    scripts_ignored_by: NotRequired[str | None]
    answers: NotRequired[bool | None]
    provenance: NotRequired[Provenance]
    schema: Literal[1]
    command: Literal['resolve']
    index: Index


class WhichParams(TypedDict):
    """
    The parameters, by name.
    """

    agent: str


class WhichDocument(TypedDict):
    """
    How an installed agent is started.
    """

    id: str
    version: str
    distribution: Kind
    platform: str | None
    program: str
    args: list[str]
    env: dict[str, str]
    installed: bool
    install_dir: str
    archive: str | None
    package: str | None
    sha256: str | None
    integrity: str | None
    verified: Verified
    index_sha256: str | None
    path: list[str]
    installed_at: str | None
    size: int
    scripts_not_run: list[str]
    scripts_ignored_by: NotRequired[str | None]
    answers: bool | None
    provenance: NotRequired[Provenance]
    schema: Literal[1]
    command: Literal['which']
    pinned: bool


class InstallParams(TypedDict):
    """
    The parameters, by name. May be absent.
    """

    agents: NotRequired[list[str] | None]
    dist: NotRequired[Literal['npx', 'uvx', 'binary'] | None]
    lock: NotRequired[str | None]
    locked: NotRequired[bool | None]
    dry_run: NotRequired[bool | None]
    no_check: NotRequired[bool | None]
    require: NotRequired[Literal['none', 'digest', 'attested'] | None]
    accept_publisher: NotRequired[bool | None]
    refresh: NotRequired[bool | None]


class InstallAgent(TypedDict):
    """
    How an agent is started, and what is known of the bytes that were or would be installed. Members that only an installation shows are absent before it.
    """

    id: str
    version: str
    distribution: Kind
    platform: str | None
    program: str | None
    args: list[str]
    env: dict[str, str]
    installed: bool
    install_dir: str
    archive: str | None
    package: str | None
    sha256: str | None
    integrity: str | None
    verified: Verified
    index_sha256: str | None
    path: NotRequired[list[str]]
    installed_at: NotRequired[str | None]
    size: NotRequired[int]
    scripts_not_run: NotRequired[list[str]]
    scripts_ignored_by: NotRequired[str | None]
    answers: NotRequired[bool | None]
    provenance: NotRequired[Provenance]


class UpdateParams(TypedDict):
    """
    The parameters, by name. May be absent.
    """

    agents: NotRequired[list[str] | None]
    to: NotRequired[str | None]
    dry_run: NotRequired[bool | None]
    min_age_seconds: NotRequired[float | None]
    unpin: NotRequired[bool | None]
    no_check: NotRequired[bool | None]
    require: NotRequired[Literal['none', 'digest', 'attested'] | None]
    accept_publisher: NotRequired[bool | None]
    refresh: NotRequired[bool | None]


class UpdateUpdateLaunch(TypedDict):
    """
    How an agent is started, and what is known of the bytes that were or would be installed. Members that only an installation shows are absent before it.
    """

    id: str
    version: str
    distribution: Kind
    platform: str | None
    program: str | None
    args: list[str]
    env: dict[str, str]
    installed: bool
    install_dir: str
    archive: str | None
    package: str | None
    sha256: str | None
    integrity: str | None
    verified: Verified
    index_sha256: str | None
    path: list[str]
    installed_at: str | None
    size: int
    scripts_not_run: list[str]
    scripts_ignored_by: NotRequired[str | None]
    answers: bool | None
    provenance: NotRequired[Provenance]


UpdateUpdate = TypedDict(
    'UpdateUpdate',
    {
        'id': str,
        'from': str,
        'to': str,
        'distribution': Kind,
        'applied': bool,
        'launch': UpdateUpdateLaunch | None,
    },
)


UpdateHeld = TypedDict(
    'UpdateHeld',
    {
        'id': str,
        'from': str,
        'to': str,
        'reason': Literal[
            'min-age', 'unknown-age', 'cooldown', 'revoked', 'other-registry'
        ],
        'until': str | None,
        'message': NotRequired[str],
    },
)


class UpdatePinned(TypedDict):
    id: str
    version: str
    available: str


class UninstallParams(TypedDict):
    """
    The parameters, by name. May be absent.
    """

    agents: NotRequired[list[str] | None]
    all: NotRequired[bool | None]
    force: NotRequired[bool | None]
    dry_run: NotRequired[bool | None]


class UninstallRemoved(TypedDict):
    id: str
    version: str
    size: int


class UninstallRunning(TypedDict):
    id: str
    version: str
    size: int


class UninstallNamed(TypedDict):
    id: str
    version: str
    size: int
    clients: list[str]


class UninstallStillNamed(TypedDict):
    id: str
    version: str
    size: int
    clients: list[str]


class DoctorParams(TypedDict):
    """
    The parameters, by name. May be absent.
    """

    agents: NotRequired[list[str] | None]
    fix: NotRequired[bool | None]
    timeout_seconds: NotRequired[float | None]


class Check(TypedDict):
    """
    Something that was examined.
    """

    name: str
    status: Literal['ok', 'warning', 'error']
    message: str
    help: str | None


class HandshakeSessionConfigOption(TypedDict):
    """
    An option.
    """

    id: str
    type: str
    category: str | None


class HandshakeSession(TypedDict):
    """
    The choices that a new session offers; null where none was opened.
    """

    modes: list[str]
    config_options: list[HandshakeSessionConfigOption]


class AuthMethod(TypedDict):
    """
    A way to sign in.
    """

    id: str
    name: str
    type: str
    type_source: Literal['type', 'meta', 'default']


class DoctorAgentHandshakeTiming(TypedDict):
    """
    How long it took.
    """

    start_to_response_seconds: float | None
    total_seconds: float


class DoctorAgentHandshakeExit(TypedDict):
    """
    How the process ended; null when it was never started.
    """

    how: Literal['exited', 'signaled', 'terminated', 'killed']
    code: int | None
    signal: int | None


class LoginMethodsParams(TypedDict):
    """
    The parameters, by name.
    """

    agent: str
    timeout_seconds: NotRequired[float | None]


class LoginMethodsVariable(TypedDict):
    name: str
    label: str | None
    secret: bool
    optional: bool
    set: bool


class LoginMethodsDocument(TypedDict):
    """
    The result of signing in.
    """

    schema: Literal[1]
    command: Literal['login']
    id: str
    version: NotRequired[str]
    status: NotRequired[Literal['signed_in', 'unconfirmed', 'signed_out', 'failed']]
    reason: NotRequired[str | None]
    message: NotRequired[str]
    help: NotRequired[str | None]
    method: NotRequired[AuthMethod | None]
    variables: NotRequired[list[LoginMethodsVariable]]
    link: NotRequired[str | None]
    session: NotRequired[
        Literal[
            'ok',
            'auth_required',
            'method_not_found',
            'invalid_params',
            'resource_not_found',
            'request_cancelled',
            'error',
            'timeout',
        ]
        | None
    ]
    stderr_tail: NotRequired[str]
    methods: list[AuthMethod]


class LoginParams(TypedDict):
    """
    The parameters, by name.
    """

    agent: str
    method: NotRequired[str | None]
    timeout_seconds: NotRequired[float | None]


class LoginVariable(TypedDict):
    name: str
    label: str | None
    secret: bool
    optional: bool
    set: bool


class LoginDocument(TypedDict):
    """
    The result of signing in.
    """

    schema: Literal[1]
    command: Literal['login']
    id: str
    version: str
    status: Literal['signed_in', 'unconfirmed', 'signed_out', 'failed']
    reason: str | None
    message: str
    help: str | None
    method: AuthMethod | None
    variables: list[LoginVariable]
    link: str | None
    session: (
        Literal[
            'ok',
            'auth_required',
            'method_not_found',
            'invalid_params',
            'resource_not_found',
            'request_cancelled',
            'error',
            'timeout',
        ]
        | None
    )
    stderr_tail: str
    methods: NotRequired[list[AuthMethod]]
    error: NotRequired[Failure]


class LogoutParams(TypedDict):
    """
    The parameters, by name.
    """

    agent: str
    timeout_seconds: NotRequired[float | None]


class LogoutVariable(TypedDict):
    name: str
    label: str | None
    secret: bool
    optional: bool
    set: bool


class LogoutDocument(TypedDict):
    """
    The result of signing out.
    """

    schema: Literal[1]
    command: Literal['logout']
    id: str
    version: str
    status: Literal['signed_in', 'unconfirmed', 'signed_out', 'failed']
    reason: str | None
    message: str
    help: str | None
    method: AuthMethod | None
    variables: list[LogoutVariable]
    link: str | None
    session: (
        Literal[
            'ok',
            'auth_required',
            'method_not_found',
            'invalid_params',
            'resource_not_found',
            'request_cancelled',
            'error',
            'timeout',
        ]
        | None
    )
    stderr_tail: str
    error: NotRequired[Failure]


class InstallingStartedEvent(TypedDict):
    """
    An installation begins.
    """

    event: Literal['installing']
    id: str
    phase: Literal['started']
    version: str


class InstallingDownloadingEvent(TypedDict):
    """
    Bytes of an archive arrived.
    """

    event: Literal['installing']
    id: str
    phase: Literal['downloading']
    received: int
    total: int | None


class InstallingUnpackingEvent(TypedDict):
    """
    An archive is being unpacked.
    """

    event: Literal['installing']
    id: str
    phase: Literal['unpacking']


class InstallingRunningEvent(TypedDict):
    """
    A package manager runs.
    """

    event: Literal['installing']
    id: str
    phase: Literal['running']
    program: str
    detail: NotRequired[str]


class InstallingEndedEvent(TypedDict):
    """
    An installation has ended, whatever its result.
    """

    event: Literal['installing']
    id: str
    phase: Literal['ended']


class CheckingEvent(TypedDict):
    """
    An agent is installed, started or done.
    """

    event: Literal['checking']
    name: str
    phase: Literal['installing', 'starting', 'done']
    detail: NotRequired[str]


class AskingEvent(TypedDict):
    """
    Questions to hosts.
    """

    event: Literal['asking']
    planned: int
    answered: int


class SendingEvent(TypedDict):
    """
    Files of a published tree.
    """

    event: Literal['sending']
    planned: int
    sent: int


class NoteEvent(TypedDict):
    """
    Something that the caller may want to know.
    """

    event: Literal['note']
    message: str


class WarningEvent(TypedDict):
    """
    Something that the caller should know, although the command succeeds.
    """

    event: Literal['warning']
    message: str
    help: NotRequired[str | None]


class TextEvent(TypedDict):
    """
    A text for people.
    """

    event: Literal['text']
    message: str


class ErrorEvent(TypedDict):
    """
    Why the command failed, or something that failed in it.
    """

    event: Literal['error']
    id: NotRequired[str]
    code: NotRequired[Code]
    exit_code: NotRequired[int]
    message: str
    help: NotRequired[str | None]
    suggestions: NotRequired[list[str]]


Event: TypeAlias = (
    InstallingStartedEvent
    | InstallingDownloadingEvent
    | InstallingUnpackingEvent
    | InstallingRunningEvent
    | InstallingEndedEvent
    | CheckingEvent
    | AskingEvent
    | SendingEvent
    | NoteEvent
    | WarningEvent
    | TextEvent
    | ErrorEvent
)


class ErrorData(TypedDict):
    """
    For programs.
    """

    code: Code
    exit_code: int
    help: str | None
    suggestions: list[str]
    parameter: NotRequired[str]
    result: NotRequired[dict[str, Any]]


class AgentFailure(TypedDict):
    """
    Why a command failed for one agent.
    """

    id: str
    code: Code
    exit_code: int
    message: str
    help: str | None
    suggestions: list[str]


class ListDocument(TypedDict):
    """
    The agents of an index, or with `--installed` those that are installed.
    """

    schema: Literal[1]
    command: Literal['list']
    index: Index | None
    index_sha256: NotRequired[str]
    agents: list[ListAgent]
    notes: NotRequired[list[str]]
    errors: NotRequired[list[AgentFailure]]


class InstallDocument(TypedDict):
    """
    The agents that were installed. For a single agent, its members also stand in the document itself.
    """

    id: NotRequired[str]
    version: NotRequired[str]
    distribution: NotRequired[Kind]
    platform: NotRequired[str | None]
    program: NotRequired[str | None]
    args: NotRequired[list[str]]
    env: NotRequired[dict[str, str]]
    installed: NotRequired[bool]
    install_dir: NotRequired[str]
    archive: NotRequired[str | None]
    package: NotRequired[str | None]
    sha256: NotRequired[str | None]
    integrity: NotRequired[str | None]
    verified: NotRequired[Verified]
    index_sha256: NotRequired[str | None]
    path: NotRequired[list[str]]
    installed_at: NotRequired[str | None]
    size: NotRequired[int]
    scripts_not_run: NotRequired[list[str]]
    scripts_ignored_by: NotRequired[str | None]
    answers: NotRequired[bool | None]
    provenance: NotRequired[Provenance]
    schema: Literal[1]
    command: Literal['install']
    dry_run: NotRequired[Literal[True]]
    agents: list[InstallAgent]
    errors: list[AgentFailure]
    index: NotRequired[Index]


class UpdateDocument(TypedDict):
    """
    Newer versions of installed agents.
    """

    schema: Literal[1]
    command: Literal['update']
    updates: list[UpdateUpdate]
    held: list[UpdateHeld]
    pinned: list[UpdatePinned]
    repairs: NotRequired[list[str]]
    repaired: list[str]
    up_to_date: list[str]
    gone: list[str]
    errors: list[AgentFailure]
    index: Index | None


class UninstallDocument(TypedDict):
    """
    The agents that were removed.
    """

    schema: Literal[1]
    command: Literal['uninstall']
    dry_run: bool
    removed: list[UninstallRemoved]
    running: list[UninstallRunning]
    named: list[UninstallNamed]
    still_named: NotRequired[list[UninstallStillNamed]]
    freed_bytes: int
    kept: list[str]
    errors: list[AgentFailure]
    ids: list[str]


class Handshake(TypedDict):
    """
    What the agent answered.
    """

    protocol_version: int | None
    agent_info: Any
    auth_methods: list[AuthMethod]
    capabilities: Any
    features: dict[str, bool]
    extra: dict[str, Any]
    probes: dict[
        str,
        Literal[
            'ok',
            'auth_required',
            'method_not_found',
            'invalid_params',
            'resource_not_found',
            'request_cancelled',
            'error',
            'timeout',
        ],
    ]
    session: HandshakeSession | None
    setup_required: str | None
    notifications: dict[str, int]
    requests: dict[str, int]
    warnings: list[str]


class DoctorAgentHandshake(TypedDict):
    """
    The outcome of a handshake.
    """

    verdict: Literal['pass', 'fail', 'error']
    reason: str | None
    message: str | None
    handshake: Handshake
    timing: DoctorAgentHandshakeTiming
    exit: DoctorAgentHandshakeExit | None
    stderr_tail: str
    isolation: str | None


class DoctorAgent(TypedDict):
    id: str
    version: str | None
    status: Literal['ok', 'warning', 'error']
    checks: list[Check]
    handshake: DoctorAgentHandshake | None


class DoctorDocument(TypedDict):
    """
    The state of the runtimes, of the store, of the index and of installed agents.
    """

    schema: Literal[1]
    command: Literal['doctor']
    checks: list[Check]
    errors: list[AgentFailure]
    agents: list[DoctorAgent]
    error: NotRequired[Failure]


class _Requests:
    @overload
    def begin(
        self, method: Literal["initialize"], params: InitializeParams | None = None, on_event: Callable[[Event], object] | None = None
    ) -> Call[InitializeDocument]: ...
    @overload
    def begin(
        self, method: Literal["list"], params: ListParams | None = None, on_event: Callable[[Event], object] | None = None
    ) -> Call[ListDocument]: ...
    @overload
    def begin(
        self, method: Literal["search"], params: SearchParams, on_event: Callable[[Event], object] | None = None
    ) -> Call[SearchDocument]: ...
    @overload
    def begin(
        self, method: Literal["info"], params: InfoParams, on_event: Callable[[Event], object] | None = None
    ) -> Call[InfoDocument]: ...
    @overload
    def begin(
        self, method: Literal["resolve"], params: ResolveParams, on_event: Callable[[Event], object] | None = None
    ) -> Call[ResolveDocument]: ...
    @overload
    def begin(
        self, method: Literal["which"], params: WhichParams, on_event: Callable[[Event], object] | None = None
    ) -> Call[WhichDocument]: ...
    @overload
    def begin(
        self, method: Literal["install"], params: InstallParams | None = None, on_event: Callable[[Event], object] | None = None
    ) -> Call[InstallDocument]: ...
    @overload
    def begin(
        self, method: Literal["update"], params: UpdateParams | None = None, on_event: Callable[[Event], object] | None = None
    ) -> Call[UpdateDocument]: ...
    @overload
    def begin(
        self, method: Literal["uninstall"], params: UninstallParams | None = None, on_event: Callable[[Event], object] | None = None
    ) -> Call[UninstallDocument]: ...
    @overload
    def begin(
        self, method: Literal["doctor"], params: DoctorParams | None = None, on_event: Callable[[Event], object] | None = None
    ) -> Call[DoctorDocument]: ...
    @overload
    def begin(
        self, method: Literal["login/methods"], params: LoginMethodsParams, on_event: Callable[[Event], object] | None = None
    ) -> Call[LoginMethodsDocument]: ...
    @overload
    def begin(
        self, method: Literal["login"], params: LoginParams, on_event: Callable[[Event], object] | None = None
    ) -> Call[LoginDocument]: ...
    @overload
    def begin(
        self, method: Literal["logout"], params: LogoutParams, on_event: Callable[[Event], object] | None = None
    ) -> Call[LogoutDocument]: ...
    @overload
    def request(
        self, method: Literal["initialize"], params: InitializeParams | None = None, on_event: Callable[[Event], object] | None = None
    ) -> InitializeDocument: ...
    @overload
    def request(
        self, method: Literal["list"], params: ListParams | None = None, on_event: Callable[[Event], object] | None = None
    ) -> ListDocument: ...
    @overload
    def request(
        self, method: Literal["search"], params: SearchParams, on_event: Callable[[Event], object] | None = None
    ) -> SearchDocument: ...
    @overload
    def request(
        self, method: Literal["info"], params: InfoParams, on_event: Callable[[Event], object] | None = None
    ) -> InfoDocument: ...
    @overload
    def request(
        self, method: Literal["resolve"], params: ResolveParams, on_event: Callable[[Event], object] | None = None
    ) -> ResolveDocument: ...
    @overload
    def request(
        self, method: Literal["which"], params: WhichParams, on_event: Callable[[Event], object] | None = None
    ) -> WhichDocument: ...
    @overload
    def request(
        self, method: Literal["install"], params: InstallParams | None = None, on_event: Callable[[Event], object] | None = None
    ) -> InstallDocument: ...
    @overload
    def request(
        self, method: Literal["update"], params: UpdateParams | None = None, on_event: Callable[[Event], object] | None = None
    ) -> UpdateDocument: ...
    @overload
    def request(
        self, method: Literal["uninstall"], params: UninstallParams | None = None, on_event: Callable[[Event], object] | None = None
    ) -> UninstallDocument: ...
    @overload
    def request(
        self, method: Literal["doctor"], params: DoctorParams | None = None, on_event: Callable[[Event], object] | None = None
    ) -> DoctorDocument: ...
    @overload
    def request(
        self, method: Literal["login/methods"], params: LoginMethodsParams, on_event: Callable[[Event], object] | None = None
    ) -> LoginMethodsDocument: ...
    @overload
    def request(
        self, method: Literal["login"], params: LoginParams, on_event: Callable[[Event], object] | None = None
    ) -> LoginDocument: ...
    @overload
    def request(
        self, method: Literal["logout"], params: LogoutParams, on_event: Callable[[Event], object] | None = None
    ) -> LogoutDocument: ...
