"""Words and endings that decide whether a piece of text is a name: fixed lists, read by `entity_kinds.py` and `extract.py`."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that open an English sentence with a capital without being part of a name.
OPENERS = _words(
    """
    a about add after again all allow also although always an and another any are as ask at avoid be because before both but by call
    can change check clean close consider could create current currently delete did do document does don't done drop during each
    either ensure even every everything existing expected few finally find first fix following for found from get give given go
    great has have he her here hers hi his how however i i'd i'll i'm i've if implement import in instead into introduce investigate
    is it it's its just keep last later let let's like list look make many may maybe merge met might more most move must my need
    needs never new next no none nor not note nothing now of often ok okay old on once one only open or other our over perhaps
    please plan put read refactor remember remove rename replace return revert review run same save see send set several she should
    show shows similarly since so some sometimes start still stop such summary support switch tell test thanks that that's the their
    then there there's these they this those though through thus to today together tomorrow too try two under unless until up update
    upgrade use used using very via wait was we we'll we're we've well were what when where whether which while who whose why will
    with within without work would write yes yesterday yet you you're your
    """
)

# A name may run across these: Bank of England, Ludwig van Beethoven.
CONNECTORS = ("of", "de", "van", "von", "der", "da", "di", "del", "la", "le", "du")

CALENDAR = _words(
    """
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun january february march
    april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec
    """
)

# `UTF-8` and the like have the shape of an issue's key.
NO_TRACKERS = _words(
    """
    AES ASCII BM COVID CP CRC GPT HTTP IEC IEEE IPV ISO JIS KOI LATIN LF MD MP PEP PKCS RFC RSA SHA SSL TCP TLS UCS UTF UTC GMT WIN
    WCAG X
    """
)

# Endings that make a word without a slash a file.
FILE_ENDINGS = _words(
    """
    bash bat c cc cfg conf cpp cs css csv cypher diff dockerfile env gif go gradle h hpp htm html ini ipynb java jpeg jpg js json
    jsonl jsx kt kts less lock log lua md mdx mjs parquet patch pdf php pl plist png proto ps1 py pyi rb rs rst scala scss sh sql
    svelte svg swift tar tf toml ts tsv tsx txt vue webp xlsx xml yaml yml zip zsh
    """
)

# Products that are spelled like a file.
NO_FILES = _words(
    """
    alpine.js angular.js backbone.js chart.js d3.js discord.js ember.js express.js moment.js nest.js next.js node.js nuxt.js p5.js
    react.js socket.io three.js vue.js asp.net
    """
)

FILES_WITHOUT_ENDING = _words(
    """
    containerfile dockerfile jenkinsfile justfile makefile procfile rakefile gemfile vagrantfile
    """
)

# Below these a path of the root needs no ending: /etc/hosts, but not /api/v1.
ROOT_FOLDERS = _words(
    """
    Users app bin dev etc home lib mnt opt private proc root run srv sys tmp usr var
    """
)

# Words that follow an at-sign in code and documentation comments.
NO_PERSONS = _words(
    """
    abstractmethod author autowired bean cached_property charset classmethod component contextmanager dataclass deprecated example
    font-face fixture functools import injectable internal keyframes layer media namespace nullable override page param parametrize
    private property public pytest readonly return returns see service since staticmethod suppresswarnings supports tailwind test
    throws todo transactional type typedef validator version wraps
    """
)

DECORATOR_OWNERS = _words("app functools pytest router")

NO_HASHTAGS = _words(
    """
    define elif else endif endregion error if ifdef ifndef include line pragma region undef
    """
)

# Particles that Korean writes onto a name: behind a syllable that ends in a consonant, behind one that ends in a vowel, behind any.
PARTICLES_AFTER_CONSONANT = _words("이라는 으로 이랑 이가 이는 이를 은 이 을 과")
PARTICLES_AFTER_VOWEL = _words("라는 는 가 를 와 로 랑")
PARTICLES_AFTER_ANY = _words("에게서 한테서 에게 한테 에서 께서 까지 부터 처럼 님이 님은 님을 님께 님 씨 의 에 도 만 께")
# The longest first, so that `에게서` is not taken for `서`.
PARTICLES_BY_LENGTH = sorted(PARTICLES_AFTER_CONSONANT | PARTICLES_AFTER_VOWEL | PARTICLES_AFTER_ANY, key=lambda word: (-len(word), word))

# A full name has three syllables and may end as a particle does: 김정은, 박태만.
SURNAMES = frozenset("강고권김노류박배백서손송신안양오유윤이임장전정조주최하한허홍황")
NAME_ENDINGS = frozenset("은이도만의")
