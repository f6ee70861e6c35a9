package terms

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTermsOfAMessage(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                         {},
		"It is what it is.":                        {},
		"We liked the lease quotes, quoted":        {"like", "leas", "quot"},
		"$2,500/mo or 1,234,567.89 a year":         {"2500", "mo", "1234567.89", "year"},
		"server 184.174.14.109.":                   {"server", "184.174.14.109"},
		"lists 1,2,3 and 12,34":                    {"list", "1", "2", "3", "12", "34"},
		"INV-2041 due 2026-10-11":                  {"inv", "2041", "inv-2041", "due", "2026", "10", "11", "2026-10-11"},
		"second-hand oven at 10:30":                {"second", "hand", "oven", "10", "30", "10:30"},
		"Maria's don't O'Brien we'll it's l'hôtel": {"maria", "o", "brien", "l", "hotel"},
		"Café CAFÉ cafe\u0301 ｃａｆｅ":                {"cafe"},
		"Straße, STRASSE":                          {"strass"},
		"İstanbul ISTANBUL":                        {"istanbul"},
		"pages/Second_Location.md":                 {"page", "second", "locat", "md"},
		"Will met May":                             {"will", "met", "may"},
		"第二家店":                                     {"第", "第二", "二", "二家", "家", "家店", "店"},
		"店 A":                                      {"店"},
		"東京タワー":                                    {"東", "東京", "京", "京タ", "タ", "タワ", "ワ", "ワー", "ー"},
		"ที่ดี":                                    {"ที่", "ที่ดี", "ดี"},
		"ម្ចាស់":                                   {"ម្", "ម្ចា", "ចា", "ចាស់", "ស់"},
		"가게":                                       {"가", "가게", "게"},
		"договор с МОЙКОЙ":                         {"договор", "с", "моикои"},
		"العُقود والأسعار":                         {"العقود", "والاسعار"},
		"سعر ٢٬٥٠٠ و ۹۵":                           {"سعر", "2", "500", "و", "95"},
		"दुकान का किराया":                          {"दुकान", "का", "किराया"},
		"ευχαριστώ ΕΥΧΑΡΙΣΤΏ":                      {"ευχαριστω"},
		"👨\u200d👩\u200d👧 🇫🇷 ok":                    {"ok"},
		"bad \xff\xfe bytes":                       {"bad", "byte"},
	} {
		if got := Of(text); !cmp.Equal(got, want) {
			t.Errorf("Of(%q) = %q; want %q", text, got, want)
		}
	}
}

func TestQueryPutsTheMostDistinctiveTermFirst(t *testing.T) {
	for text, want := range map[string][]string{
		"which lease did we like in Houma": {"houma", "leas", "like"},
		"the quote of 2500 for the awning": {"2500", "quot", "awn"},
		"oak oak brass oak tin":            {"brass", "tin", "oak"},
		"第二家店":                             {"第二", "二家", "家店"},
		"店":                                {"店"},
		"what was it":                      {},
	} {
		if got := Query(text); !cmp.Equal(got, want) {
			t.Errorf("Query(%q) = %q; want %q", text, got, want)
		}
	}
}

func TestAQueryInOtherWordsFormsFindsTheMessage(t *testing.T) {
	for query, message := range map[string]string{
		"quoted":         "two lease quotes",
		"painting":       "the walls are painted",
		"resume":         "sent the Résumé",
		"2500":           "budget under $2,500/mo",
		"$2500":          "budget under 2,500",
		"184.174.14.109": "it runs at http://184.174.14.109:8080/",
		"2041":           "invoice INV-2041",
		"二号店":            "店主は二号店を開きたい",
		"店":              "第二家店的租约",
		"ร้าน":           "เปิดร้านที่สอง",
		"가게":             "두번째 가게를 연다",
		"الاسعار":        "مقارنة الأسْعار",
		"بيتزا":          "طلب بیتزا",
		"ｈｏｕｍａ":          "Houma",
		"Strasse":        "in der Straße",
	} {
		of := Of(message)
		for _, term := range Query(query) {
			if !slices.Contains(of, term) {
				t.Errorf("Query(%q) asks for %q, which is not in Of(%q) = %q", query, term, message, of)
			}
		}
	}
}

func TestALongMessageKeepsItsMostDistinctiveTerms(t *testing.T) {
	var words []string
	for i := range 400 {
		words = append(words, fmt.Sprintf("%c%c%c", 'b'+i%20, 'a'+i/20, 'x'))
	}
	text := strings.Join(words, " ") + " INV-2041 subterranean 店主"
	got := Of(text)
	if len(got) != MaxTerms {
		t.Fatalf("%d terms; want %d", len(got), MaxTerms)
	}
	for _, want := range []string{"inv-2041", "2041", "subterranean", words[0]} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not kept", want)
		}
	}
	for _, least := range []string{words[399], "店主", "店"} {
		if slices.Contains(got, least) {
			t.Errorf("%q is kept before more distinctive terms", least)
		}
	}
}

func TestALongWordIsFoundByItself(t *testing.T) {
	for _, word := range []string{strings.Repeat("x", 100), strings.Repeat("é", 100), strings.Repeat("ж", 100), "店" + strings.Repeat("\u3099", 50)} {
		if got, want := Query(word), Of("see " + word)[1:]; len(got) == 0 || !slices.Contains(want, got[0]) || len(got[0]) > MaxTermBytes {
			t.Errorf("Query gives %q, Of %q", got, want)
		}
	}
}

// words draws words of several scripts; those of scripts without spaces are
// drawn as runs.
var words = rapid.OneOf(
	rapid.StringMatching(`[A-Za-zéñß]{1,12}`), rapid.StringMatching(`[a-z]{2,8}(ing|ed|s|'s|n't)`),
	rapid.StringMatching(`\$?[0-9]{1,3}(,[0-9]{3}){0,2}(\.[0-9]{1,2})?`), rapid.StringMatching(`[A-Z]{2,4}[-_:][0-9]{2,6}`),
	rapid.StringMatching(`[0-9]{1,3}(\.[0-9]{1,3}){3}`), rapid.StringMatching(`[а-яё]{1,10}`), rapid.StringMatching(`[ء-ي]{1,10}`),
	rapid.StringMatching(`[一-龥]{1,6}`), rapid.StringMatching(`[ぁ-んァ-ンー]{1,6}`), rapid.StringMatching(`[가-힣]{1,5}`),
	rapid.StringMatching(`[ก-ฮ]{1,8}`), rapid.StringMatching(`[अ-ह][ािी]?[अ-ह]`),
)

func TestWordsOfATextFindIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(words, 1, 20).Draw(t, "words")
		from := rapid.IntRange(0, len(text)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, len(text)).Draw(t, "to")
		asksFor(t, strings.Join(text[from:to], " "), strings.Join(text, " "))
	})
}

func TestPartsOfARunWithoutSpacesFindIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []rune(rapid.StringMatching(`[一-龥ぁ-んァ-ン가-힣ก-ฮ]{1,60}`).Draw(t, "text"))
		from := rapid.IntRange(0, len(text)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, len(text)).Draw(t, "to")
		asksFor(t, string(text[from:to]), "ok "+string(text)+".")
	})
}

// asksFor checks that a query asks for nothing that the text does not have.
func asksFor(t rapid.TB, query, text string) {
	of := Of(text)
	if len(of) >= MaxTerms {
		return
	}
	for _, term := range Query(query) {
		if !slices.Contains(of, term) {
			t.Fatalf("Query(%q) asks for %q, which is not in Of(%q) = %q", query, term, text, of)
		}
	}
}

func FuzzTerms(f *testing.F) {
	f.Add("We liked the lease quotes: $2,500/mo, INV-2041, it's 店主は二号店 ที่ดี العُقود")
	f.Add("\xff'-_:1,234.5.'s\u0301\u200d")
	f.Fuzz(func(t *testing.T, text string) {
		for name, list := range map[string][]string{"Of": Of(text), "Query": Query(text)} {
			if len(list) > MaxTerms {
				t.Fatalf("%s gives %d terms", name, len(list))
			}
			for i, term := range list {
				if term == "" || len(term) > MaxTermBytes || !utf8.ValidString(term) || slices.Contains(list[:i], term) {
					t.Fatalf("%s(%+q) has the term %+q", name, text, term)
				}
			}
		}
		asksFor(t, text, text)
	})
}

func BenchmarkOf(b *testing.B) {
	english := strings.Repeat("Compared two lease quotes for the second location in Houma; the budget stays under $2,500/mo and we are leaning to the Main St one, INV-2041. ", 15)
	for name, text := range map[string]string{
		"2 KB of English, few words":  english[:2048],
		"2 KB of English, many words": manyWords(2048),
		"2 KB of Chinese":             strings.Repeat("客户想在十月开第二家店比较了两份租约报价倾向于主街那一份", 30)[:2046],
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if len(Of(text)) == 0 {
					b.Fatal("no terms")
				}
			}
		})
	}
}

func manyWords(n int) string {
	var s strings.Builder
	for i := 0; s.Len() < n; i++ {
		fmt.Fprintf(&s, "%c%c%cation ", 'a'+i%26, 'a'+i/26%26, 'a'+i*7%26)
	}
	return s.String()[:n]
}
