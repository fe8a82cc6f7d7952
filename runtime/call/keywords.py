"""The names of the keyword arguments in a call, which Python does not tell the function that is called."""

import dis


def keywords_of_call(frame):
    """Return the names of the keyword arguments in the call that a frame is executing.

    There are none where the call instruction does not contain them (f(*args, **kwargs), C). A function that binds by
    Python's own rules cannot distinguish f(x, dim=0) from f(x); PyTorch's can, and pass both on as they were written.
    """
    code, at = frame.f_code, frame.f_lasti
    text = code.co_code
    while text[at] == 0 and at > 1:  # skip the inline caches of the call
        at -= 2
    back = at - _BEFORE_CALL
    if text[at] != _CALL or back < 0 or text[back] != _NAMES:
        return ()
    index, shift = text[back + 1], 8
    while back >= 2 and text[back - 2] == dis.EXTENDED_ARG:
        back -= 2
        index, shift = index | text[back + 1] << shift, shift + 8
    names = code.co_consts[index]
    return names if isinstance(names, tuple) else ()


_NAMES = dis.opmap.get(
    "KW_NAMES", dis.opmap["LOAD_CONST"]
)  # KW_NAMES: Python 3.11 and 3.12; other versions load the names as a constant
_CALL = dis.opmap["CALL_FUNCTION_KW" if "CALL_FUNCTION_KW" in dis.opmap else "CALL"]
_BEFORE_CALL = 2 + 4 * ("PRECALL" in dis.opmap)  # bytes between the two
