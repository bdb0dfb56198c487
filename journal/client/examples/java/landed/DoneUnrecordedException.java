package landed;

/** The provider confirmed, and the journal could not be told. Do not repeat the effect. */
public final class DoneUnrecordedException extends Exception {
    private static final long serialVersionUID = 1L;

    private final String effectId;
    private final String providerId;

    DoneUnrecordedException(String effectId, String providerId, Throwable cause) {
        super("effect " + effectId + " is done (provider id " + providerId + ") but not recorded: do not repeat it", cause);
        this.effectId = effectId;
        this.providerId = providerId;
    }

    public String effectId() {
        return effectId;
    }

    public String providerId() {
        return providerId;
    }
}
