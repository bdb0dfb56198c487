package landed;

/** The provider said no and did nothing. */
public final class RefusedException extends Exception {
    private static final long serialVersionUID = 1L;

    final boolean lasting;
    final int status;
    final long retryAfterMillis;

    private RefusedException(String what, boolean lasting, int status, long retryAfterMillis) {
        super(what);
        this.lasting = lasting;
        this.status = status;
        this.retryAfterMillis = retryAfterMillis;
    }

    /** A refusal that no retry can cure. */
    public static RefusedException forGood(int status, String what) {
        return new RefusedException(what, true, status, 0);
    }

    /** A refusal that a later retry may cure, as a rate limit. */
    public static RefusedException forNow(int status, String what, long retryAfterMillis) {
        return new RefusedException(what, false, status, retryAfterMillis);
    }
}
