package landed;

/** The time is over in which an attempt may write its first byte. */
public final class TooLateException extends NotSentException {
    private static final long serialVersionUID = 1L;

    TooLateException(String what) {
        super(what, null);
    }
}
