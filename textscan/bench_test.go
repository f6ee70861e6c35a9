package textscan

import (
	"fmt"
	"testing"
)

func BenchmarkScan(b *testing.B) {
	for name, text := range map[string]string{
		"name":            "pages/Second Location lease quotes",
		"name with marks": "páginas/Segunda ubicación — presupuesto",
		"name in Chinese": "页面/第二家店的租约报价和预算",
		"gist":            "Owner wants a second location in Houma; compared two lease quotes under $2,500/mo, leaning to the Main St one; asked the landlord to send the papers and the user manual",
		"folded gist":     "El dueño quiere una segunda ubicación en Houma; comparó dos cotizaciones de alquiler y pidió al propietario que envíe los papeles y el manual del usuario",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if rule, hit := Scan(text); hit {
					b.Fatal(rule)
				}
			}
		})
	}
}

// BenchmarkTurn scans what a turn shows at most: 12 gists and 300 names.
func BenchmarkTurn(b *testing.B) {
	var texts []string
	for i := range 300 {
		texts = append(texts, fmt.Sprintf("pages/Supplier %d of the second location", i))
	}
	for i := range 12 {
		texts = append(texts, fmt.Sprintf("Compared quote %d with the landlord's offer for Main St, budget under $2,500/mo; the user asked for a new message to the bank, left open", i))
	}
	for b.Loop() {
		for _, text := range texts {
			if rule, hit := Scan(text); hit {
				b.Fatal(rule)
			}
		}
	}
}

// BenchmarkLoad reads the rules, as the first scan of a process does.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := load(ruleFile); err != nil {
			b.Fatal(err)
		}
	}
}
