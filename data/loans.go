package data

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// Loans makes rows of a table of loans, as people have such tables: texts, numbers, some missing, dates, several levels in a cell. Whether
// a loan defaults is drawn from log-odds that are known, [Loans.Truth]. A row is a function of the seed and its number. Cities open over
// time: rows with higher numbers have some that those before do not. Methods may be called by many goroutines.
type Loans struct{ Seed uint64 }

// LoansHeader are the names of the columns.
func LoansHeader() []string {
	return []string{"id", "applied", "age", "income", "employment", "city", "purpose", "channel", "history", "amount", "defaulted"}
}

// loan is a row before it is text.
type loan struct {
	applied                            time.Time
	age, income, amount                float64
	employment, city, purpose, channel int
	history                            []string
	noAge, noIncome, noEmployment      bool
}

var (
	loanEmployment = []string{"permanent", "temporary", "self-employed", "civil servant", "student", "retired", "none"}
	loanPurposes   = []string{"car", "furniture", "education", "\"other\", unspecified", "renovation", "travel"}
	loanChannels   = []string{"web", "branch", "broker", "phone"}
	loanHistory    = []string{"late", "card", "overdraft", "mortgage", "guarantor"}
	employmentOdds = []float64{-0.5, 0.4, 0.1, -0.9, 0.3, -0.4, 1.1}
	purposeOdds    = []float64{-0.2, 0.1, -0.3, 0.4, -0.1, 0.3}
	historyOdds    = []float64{0.9, -0.1, 0.5, -0.5, -0.3}
)

// loanCities is how many cities there are at first; one more opens with every loansPerCity rows.
const loanCities, loansPerCity = 150, 500

// draw draws row number i.
func (m Loans) draw(i int64) (l loan) {
	state := mix(m.Seed^0x6c6f616e) + uint64(i)*golden*64
	next := func() uint64 { state += golden; return mix(state) }
	unit := func() float64 { return float64(next()>>11) / (1 << 53) }
	normal := func() float64 {
		return math.Sqrt(-2*math.Log(1-unit())) * math.Cos(2*math.Pi*unit())
	}
	l.applied = time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(unit()*730))
	l.age = math.Floor(19 + 55*unit()*math.Sqrt(unit()))
	l.income = math.Round(math.Exp(7.6+0.45*normal()) * (1 + 0.01*(l.age-19)))
	l.amount = 100 * math.Ceil(math.Exp(3.6+0.8*normal()))
	l.employment = int(unit() * unit() * float64(len(loanEmployment)))
	cities := float64(loanCities + i/loansPerCity)
	l.city = int(cities * math.Pow(unit(), 3))
	l.purpose, l.channel = int(unit()*float64(len(loanPurposes))), int(unit()*unit()*float64(len(loanChannels)))
	for _, one := range loanHistory {
		if unit() < 0.2 {
			l.history = append(l.history, one)
		}
	}
	l.noAge, l.noIncome, l.noEmployment = unit() < 0.03, unit() < 0.1, unit() < 0.08
	return l
}

// odds are the log-odds of a default.
func (l *loan) odds(seed uint64) float64 {
	sum := -2.4 + employmentOdds[l.employment] + purposeOdds[l.purpose] + 0.35*math.Log(l.amount/4000) - 0.8*math.Log(l.income/2500)
	sum += 0.02 * math.Abs(l.age-45)
	for k, one := range loanHistory {
		if slices.Contains(l.history, one) {
			sum += historyOdds[k]
		}
	}
	city := float64(mix(seed^uint64(l.city)*golden)>>11)/(1<<53) - 0.5 // from -0.5 to 0.5
	sum += 1.5 * city
	if l.applied.Month() >= time.November { // the end of the year is dear
		sum += 0.6
	}
	if loanChannels[l.channel] == "broker" { // who sends whom counts: an interaction
		sum += 0.5 - 0.8*employmentOdds[l.employment]
	}
	if l.noIncome { // who does not say it mostly has less
		sum += 0.5
	}
	return sum
}

// Truth is the probability that loan i defaults.
func (m Loans) Truth(i int64) float64 {
	l := m.draw(i)
	return 1 / (1 + math.Exp(-l.odds(m.Seed)))
}

// Defaulted reports whether loan i defaulted.
func (m Loans) Defaulted(i int64) bool {
	u := float64(mix(mix(m.Seed^0x646566)+uint64(i)*golden)>>11) / (1 << 53)
	return u < m.Truth(i)
}

// Append appends row i as a line of cells with sep between them.
func (m Loans) Append(line []byte, i int64, sep byte) []byte {
	l := m.draw(i)
	cell := func(text string) { line = append(AppendCell(line, sep, text), sep) }
	number := func(v float64, missing bool) {
		if !missing {
			line = strconv.AppendFloat(line, v, 'f', -1, 64)
		}
		line = append(line, sep)
	}
	number(float64(i+1), false)
	cell(l.applied.Format(time.DateOnly))
	number(l.age, l.noAge)
	number(l.income, l.noIncome)
	if l.noEmployment {
		cell("NA")
	} else {
		cell(loanEmployment[l.employment])
	}
	cell("city " + strconv.Itoa(l.city+1))
	cell(loanPurposes[l.purpose])
	cell(loanChannels[l.channel])
	history := ""
	for k, one := range l.history {
		if k > 0 {
			history += "|"
		}
		history += one
	}
	cell(history)
	number(l.amount, false)
	if m.Defaulted(i) {
		return append(line, "yes\n"...)
	}
	return append(line, "no\n"...)
}
