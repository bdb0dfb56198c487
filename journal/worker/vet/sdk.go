package vet

import (
	"go/types"
	"slices"
	"strings"
)

// sdkEffect reports whether a call of a provider's library causes an effect. The names
// are those of the libraries themselves:
//
//   - stripe-go: refund.New(*RefundParams) and its like, and of the newer client
//     V1Refunds.Create(ctx, *RefundCreateParams); Get, Retrieve, List and Search read;
//   - sendgrid-go: Client.Send, SendWithContext, API and MakeRequest with its variants;
//   - slack-go: Client.PostMessage, SendMessage, UpdateMessage, DeleteMessage and
//     PostEphemeral, each also with Context;
//   - Amazon SES and SES v2, both generations: SendEmail, SendRawEmail,
//     SendTemplatedEmail, SendBulkEmail, SendBulkTemplatedEmail;
//   - twilio-go: ApiService.CreateMessage and CreateCall;
//   - gomail and go-mail: DialAndSend with its variants;
//   - Gmail's client: UsersMessagesSendCall.Do and UsersDraftsSendCall.Do.
func sdkEffect(f *types.Func) bool {
	path, name := pkgPath(f), f.Name()
	switch {
	case below(path, "github.com/stripe/stripe-go"):
		return stripeEffect(f)
	case path == "github.com/sendgrid/sendgrid-go":
		return slices.Contains([]string{"Send", "SendWithContext", "API", "MakeRequest", "MakeRequestWithContext", "MakeRequestRetry", "MakeRequestRetryWithContext", "MakeRequestAsync"}, name)
	case path == "github.com/slack-go/slack":
		verb := strings.TrimSuffix(name, "Context")
		return receiver(f) != nil && slices.Contains([]string{"PostMessage", "SendMessage", "UpdateMessage", "DeleteMessage", "PostEphemeral"}, verb)
	case isSES(path):
		verb := strings.TrimSuffix(name, "WithContext")
		return receiver(f) != nil && slices.Contains([]string{"SendEmail", "SendRawEmail", "SendTemplatedEmail", "SendBulkEmail", "SendBulkTemplatedEmail"}, verb)
	case below(path, "github.com/twilio/twilio-go"):
		return name == "CreateMessage" || name == "CreateCall"
	case path == "gopkg.in/gomail.v2", path == "github.com/wneessen/go-mail":
		return strings.HasPrefix(name, "DialAndSend")
	case path == "google.golang.org/api/gmail/v1":
		_, typ := named(receiverOrNil(f))
		return name == "Do" && (typ == "UsersMessagesSendCall" || typ == "UsersDraftsSendCall")
	}
	return false
}

func isSES(path string) bool {
	for _, p := range []string{"github.com/aws/aws-sdk-go-v2/service/", "github.com/aws/aws-sdk-go/service/"} {
		if s, ok := strings.CutPrefix(path, p); ok {
			return s == "ses" || s == "sesv2"
		}
	}
	return false
}

// stripeEffect: what takes parameters of stripe-go and does not read. Lists take
// ListParams; clients, iterators and the parameters' own methods take none.
func stripeEffect(f *types.Func) bool {
	for _, reading := range []string{"Get", "Retrieve", "List", "Search", "Preview"} {
		if strings.HasPrefix(f.Name(), reading) {
			return false
		}
	}
	for i := range f.Signature().Params().Len() {
		path, name := named(f.Signature().Params().At(i).Type())
		if below(path, "github.com/stripe/stripe-go") && strings.HasSuffix(name, "Params") && !strings.HasSuffix(name, "ListParams") {
			r := receiver(f)
			if r == nil {
				return f.Exported()
			}
			_, typ := named(r)
			return typ == "Client" || strings.HasSuffix(typ, "Service")
		}
	}
	return false
}
