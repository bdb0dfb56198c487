package landed;

/** The journal gave no answer, or one that says to ask again. Of a begin: nothing was executed. */
public final class UnavailableException extends JournalException {
    private static final long serialVersionUID = 1L;

    UnavailableException(String why, Throwable cause) {
        super(503, "unavailable", why, null, cause);
    }
}
