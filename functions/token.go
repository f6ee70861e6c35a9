package functions

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/hippofire/hippofire/hippo"
)

// Where the keys of the issuers are that everybody knows.
const (
	googleIssuer   = "https://accounts.google.com"
	googleKeys     = "https://www.googleapis.com/oauth2/v3/certs"
	firebaseIssuer = "https://securetoken.google.com/"
	firebaseKeys   = "https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com"
)

// keysWithin bounds the call that reads an issuer's keys. They are kept until a
// token names one that is not among them.
const keysWithin = 5 * time.Second

// errUnauthenticated is wrapped by the refusal of a token, as opposed to that of
// what a good one asks for.
var errUnauthenticated = errors.New("the request has no token that is accepted")

// callers verifies who calls, where the configuration asks for it. Nil lets in
// whom the platform lets in.
type callers struct {
	issuer, audience, claim string
	keys                    oidc.KeySet
}

// newCallers reads the configuration; it is nil where tokens are not asked for.
func newCallers(c Config) (*callers, error) {
	if c.TokenAudience == "" {
		if c.TokenIssuer != "" || c.TokenKeys != "" {
			return nil, hippo.Errorf(hippo.Invalid, "HIPPOFIRE_TOKEN_AUDIENCE", "is missing: without it no token is looked at")
		}
		return nil, nil
	}
	t := &callers{issuer: c.TokenIssuer, audience: c.TokenAudience, claim: c.TokenClaim}
	if t.issuer == "" {
		t.issuer = googleIssuer
	}
	url := c.TokenKeys
	switch {
	case url != "":
	case t.issuer == googleIssuer:
		url = googleKeys
	case strings.HasPrefix(t.issuer, firebaseIssuer):
		url = firebaseKeys
	default:
		return nil, hippo.Errorf(hippo.Invalid, "HIPPOFIRE_TOKEN_KEYS", "is missing: nobody knows where the keys of %s are", t.issuer)
	}
	client := oidc.ClientContext(context.Background(), &http.Client{Timeout: keysWithin})
	t.keys = oidc.NewRemoteKeySet(client, url)
	return t, nil
}

// admit refuses a request whose token is not good, or names another tenant than
// the request. Its errors are of kind Denied, and Unavailable where the keys cannot
// be read.
func (t *callers) admit(ctx context.Context, tenant string) error {
	if t == nil {
		return nil
	}
	token, _ := ctx.Value(tokenKey{}).(string)
	if token == "" {
		return hippo.Wrap(hippo.Denied, errUnauthenticated, "no bearer token")
	}
	keys := &recordedKeys{KeySet: t.keys}
	verified, err := oidc.NewVerifier(t.issuer, keys, &oidc.Config{
		ClientID: t.audience, SupportedSigningAlgs: []string{oidc.RS256, oidc.ES256},
	}).Verify(ctx, token)
	switch {
	case err != nil && keys.unreadable():
		return hippo.Wrap(hippo.Unavailable, keys.err, "reading the keys of "+t.issuer)
	case err != nil:
		return hippo.Wrap(hippo.Denied, errUnauthenticated, "the token is expired, for another audience, from another issuer, or not signed by it")
	}
	var claims map[string]any
	if err := verified.Claims(&claims); err != nil {
		return hippo.Wrap(hippo.Denied, errUnauthenticated, "the token's claims cannot be read")
	}
	if named, _ := claims[t.claim].(string); named == "" || named != tenant {
		return hippo.Errorf(hippo.Denied, "tenant", "is not the one that the token's claim %q names", t.claim)
	}
	return nil
}

// recordedKeys keeps the error of a verification, which the verifier passes on as
// text alone.
type recordedKeys struct {
	oidc.KeySet
	err error
}

// VerifySignature is oidc.KeySet's.
func (k *recordedKeys) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, jwt)
	k.err = err
	return payload, err
}

// unreadable says whether the keys could not be read, so that the token may be
// good.
func (k *recordedKeys) unreadable() bool {
	return k.err != nil && strings.HasPrefix(k.err.Error(), "fetching keys")
}

type tokenKey struct{}

// withToken keeps a request's bearer token in its context.
func withToken(ctx context.Context, r *http.Request) context.Context {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, tokenKey{}, strings.TrimSpace(token))
}

// tenantOf is the tenant that a request names. Every request has such a field; one
// without would be refused wherever tokens are asked for.
func tenantOf(req any) string {
	field := reflect.ValueOf(req).FieldByName("Tenant")
	if !field.IsValid() || field.Kind() != reflect.String {
		return ""
	}
	return field.String()
}
