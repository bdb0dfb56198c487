package landed;

/** What the provider confirmed. replayed: it repeated a stored answer instead of acting again. */
public record Outcome(byte[] result, String providerId, boolean replayed) {}
