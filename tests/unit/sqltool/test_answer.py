from service.sqltool.answer import make_answer


def test_an_integer_that_no_decoder_takes_stays_text() -> None:
    digits = "9" * 5_000
    answer = make_answer(["n", "m"], [f'{{"a":{digits},"b":{2**70}}}'], 10_000)
    assert answer.rows == [[digits, 2**70]]
