package landed;

import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.ByteBuffer;
import java.util.concurrent.Flow;

/**
 * A request body that asks the grant right before its first byte, when the connection stands and
 * the header is written. Without it a slow connection could still carry the request after send_by,
 * when a look at the provider may already have found nothing. java.net.http repeats no POST by
 * default (jdk.httpclient.enableAllMethodRetry); if somebody switches that on, the grant refuses the
 * second one.
 */
public final class GatedBody implements BodyPublisher {
    private final Grant grant;
    private final BodyPublisher body;

    /** body must not be empty: a request without one is complete with its header. */
    public GatedBody(Grant grant, byte[] body) {
        if (body.length == 0) {
            throw new IllegalArgumentException("an empty body can't be held back");
        }
        this.grant = grant;
        this.body = BodyPublishers.ofByteArray(body);
    }

    @Override
    public long contentLength() {
        return body.contentLength();
    }

    @Override
    public void subscribe(Flow.Subscriber<? super ByteBuffer> connection) {
        body.subscribe(new Gate(grant, connection));
    }

    private static final class Gate implements Flow.Subscriber<ByteBuffer> {
        private final Grant grant;
        private final Flow.Subscriber<? super ByteBuffer> connection;
        private Flow.Subscription source;
        private boolean open;
        private boolean shut;

        Gate(Grant grant, Flow.Subscriber<? super ByteBuffer> connection) {
            this.grant = grant;
            this.connection = connection;
        }

        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            source = subscription;
            connection.onSubscribe(subscription);
        }

        @Override
        public void onNext(ByteBuffer part) {
            if (!open && !shut) {
                try {
                    grant.sending();
                    open = true;
                } catch (TooLateException e) {
                    shut = true;
                    source.cancel();
                    connection.onError(e);
                }
            }
            if (open) {
                connection.onNext(part);
            }
        }

        @Override
        public void onError(Throwable error) {
            if (!shut) {
                connection.onError(error);
            }
        }

        @Override
        public void onComplete() {
            if (!shut) {
                connection.onComplete();
            }
        }
    }
}
