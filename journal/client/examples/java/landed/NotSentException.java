package landed;

/** No byte of the request left, and that is certain. */
public class NotSentException extends Exception {
    private static final long serialVersionUID = 1L;

    public NotSentException(String what, Throwable cause) {
        super(what, cause);
    }
}
