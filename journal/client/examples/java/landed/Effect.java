package landed;

/**
 * What causes the effect, once per grant. It throws {@link NotSentException} or {@link
 * RefusedException} where that is certain; anything else it throws means that it may have happened.
 */
@FunctionalInterface
public interface Effect {
    Outcome execute(Grant grant) throws Exception;
}
