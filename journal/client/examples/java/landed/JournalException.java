package landed;

/** The journal refused a call, with a stable code of the API. Of a begin: nothing was executed. */
public class JournalException extends Exception {
    private static final long serialVersionUID = 1L;

    private final String code;
    private final transient Json problem;

    JournalException(int status, String code, String detail, Json problem, Throwable cause) {
        super(status + " " + code + ": " + detail, cause);
        this.code = code;
        this.problem = problem;
    }

    /** The code of the problem document, "" if it had none. */
    public String code() {
        return code;
    }

    /** The problem document, for example the fields of key_reused; null if there was none. */
    public Json problem() {
        return problem;
    }
}
