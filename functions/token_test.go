package functions_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/sethvargo/go-envconfig"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
)

// issuer signs tokens, and serves its keys.
type issuer struct {
	*testing.T
	key   *ecdsa.PrivateKey
	url   string
	asked atomic.Int64
	down  atomic.Bool
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{T: t, key: key}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.asked.Add(1)
		if i.down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	}))
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

// token signs claims as they are.
func (i *issuer) token(claims map[string]any) string {
	i.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		i.Fatal(err)
	}
	options := (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", "k")
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: i.key}, options)
	if err != nil {
		i.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		i.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		i.Fatal(err)
	}
	return text
}

// good are the claims of a token of the tenant acme.
func (i *issuer) good(more map[string]any) map[string]any {
	now := time.Now()
	claims := map[string]any{"iss": i.url, "aud": "hippofire", "sub": "u", "tenant": "acme", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(claims, more)
	return claims
}

func unsigned(claims map[string]any) string {
	payload, _ := json.Marshal(claims)
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + encode(payload) + "."
}

func serveWithTokens(t *testing.T, i *issuer) *service {
	t.Helper()
	f := fixture.Embedded(t)
	s := serve(f)
	config, err := functions.ConfigFromEnv(t.Context(), envconfig.MapLookuper(map[string]string{
		"HIPPOFIRE_TOKEN_AUDIENCE": "hippofire", "HIPPOFIRE_TOKEN_ISSUER": i.url, "HIPPOFIRE_TOKEN_KEYS": i.url + "/keys",
	}))
	f.Must(err)
	app, err := functions.New(config, functions.Parts{Store: f.Fault, Log: s.newLog()})
	f.Must(err)
	functions.Provide(app)
	return s
}

func (s *service) as(token, function, body string) answer {
	s.Helper()
	req, err := http.NewRequest(http.MethodPost, s.url+"/"+function, strings.NewReader(body))
	s.Must(err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return s.do(req)
}

func TestATokenDecidesWhoseTenantIsAnswered(t *testing.T) {
	i := newIssuer(t)
	s := serveWithTokens(t, i)
	stranger := newIssuer(t)
	past, future := time.Now().Add(-time.Hour).Unix(), time.Now().Add(time.Hour).Unix()
	for name, c := range map[string]struct {
		token  string
		status int
	}{
		"good":                     {i.token(i.good(nil)), http.StatusOK},
		"one of several audiences": {i.token(i.good(map[string]any{"aud": []string{"x", "hippofire"}})), http.StatusOK},
		"none":                     {"", http.StatusUnauthorized},
		"no token":                 {"something", http.StatusUnauthorized},
		"expired":                  {i.token(i.good(map[string]any{"exp": past})), http.StatusUnauthorized},
		"not valid yet":            {i.token(i.good(map[string]any{"nbf": future})), http.StatusUnauthorized},
		"for another audience":     {i.token(i.good(map[string]any{"aud": "another"})), http.StatusUnauthorized},
		"from another issuer":      {i.token(i.good(map[string]any{"iss": "https://accounts.google.com"})), http.StatusUnauthorized},
		"signed by another key":    {stranger.token(i.good(nil)), http.StatusUnauthorized},
		"alg none":                 {unsigned(i.good(nil)), http.StatusUnauthorized},
		"changed after it":         {changed(i.token(i.good(map[string]any{"tenant": "globex"})), i.good(nil)), http.StatusUnauthorized},
		"of another tenant":        {i.token(i.good(map[string]any{"tenant": "globex"})), http.StatusForbidden},
		"of no tenant":             {i.token(i.good(map[string]any{"tenant": ""})), http.StatusForbidden},
		"of a number":              {i.token(i.good(map[string]any{"tenant": 1})), http.StatusForbidden},
	} {
		a := s.as(c.token, "TurnContext", `{"tenant":"acme","thread":"th"}`)
		if a.status != c.status {
			t.Errorf("a token that is %s: %d, want %d: %v", name, a.status, c.status, a.body)
		}
		if c.status == http.StatusForbidden && a.body["field"] != "tenant" {
			t.Errorf("a token that is %s: %v, want the field at fault", name, a.body)
		}
		if (c.status == http.StatusUnauthorized) != (a.header.Get("WWW-Authenticate") != "") {
			t.Errorf("a token that is %s: WWW-Authenticate is %q", name, a.header.Get("WWW-Authenticate"))
		}
	}
	if n := i.asked.Load(); n > 3 { // the strangers' tokens may ask once more
		t.Errorf("the keys were read %d times", n)
	}
}

// changed puts other claims under a token's signature.
func changed(token string, claims map[string]any) string {
	payload, _ := json.Marshal(claims)
	parts := strings.Split(token, ".")
	return parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload) + "." + parts[2]
}

// TestEveryHTTPFunctionAsksForTheToken looks that none is open, and that the
// tenant of each one's request is the one that is compared.
func TestEveryHTTPFunctionAsksForTheToken(t *testing.T) {
	i := newIssuer(t)
	s := serveWithTokens(t, i)
	own := i.token(i.good(nil))
	for _, function := range functions.HTTPNames() {
		for tenant, want := range map[string]bool{"acme": true, "globex": false} {
			body := fmt.Sprintf(`{"tenant":%q}`, tenant)
			if a := s.as("", function, body); a.status != http.StatusUnauthorized {
				t.Errorf("%s without a token: %d", function, a.status)
			}
			if a := s.as(own, function, body); (a.status != http.StatusForbidden) != want {
				t.Errorf("%s of %s with a token of acme: %d", function, tenant, a.status)
			}
		}
	}
}

func TestKeysThatCannotBeReadAreNotTheCallersFault(t *testing.T) {
	i := newIssuer(t)
	i.down.Store(true)
	s := serveWithTokens(t, i)
	if a := s.as(i.token(i.good(nil)), "TurnContext", `{"tenant":"acme","thread":"th"}`); a.status != http.StatusServiceUnavailable {
		t.Errorf("%d: %v, want 503", a.status, a.body)
	}
	i.down.Store(false)
	if a := s.as(i.token(i.good(nil)), "TurnContext", `{"tenant":"acme","thread":"th"}`); a.status != http.StatusOK {
		t.Errorf("afterwards %d: %v", a.status, a.body)
	}
}

func TestTokenSettingsThatWouldNotDoAreRefused(t *testing.T) {
	for variable, env := range map[string]map[string]string{
		"HIPPOFIRE_TOKEN_AUDIENCE": {"HIPPOFIRE_TOKEN_ISSUER": "https://accounts.google.com"},
		"HIPPOFIRE_TOKEN_KEYS":     {"HIPPOFIRE_TOKEN_AUDIENCE": "a", "HIPPOFIRE_TOKEN_ISSUER": "https://example.com"},
	} {
		_, err := functions.ConfigFromEnv(t.Context(), envconfig.MapLookuper(env))
		if !hippo.IsKind(err, hippo.Invalid) || !strings.Contains(err.Error(), variable) {
			t.Errorf("%v: %v", env, err)
		}
	}
	for _, known := range []string{"", "https://securetoken.google.com/p"} {
		env := map[string]string{"HIPPOFIRE_TOKEN_AUDIENCE": "a", "HIPPOFIRE_TOKEN_ISSUER": known}
		if _, err := functions.ConfigFromEnv(t.Context(), envconfig.MapLookuper(env)); err != nil {
			t.Errorf("%v: %v", env, err)
		}
	}
}
