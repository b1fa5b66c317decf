package program

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"thole.example/dump"
)

// How much an explanation shows: bytes of a text or a value, and of a list its first values.
const (
	shownBytes  = 48
	shownValues = 16
)

// Explain prints the bytes of a topology with their meaning, as far as they make sense: each field of a ProgramDesc with
// its name, type and value, each operator of a PIR text. Errors are those of Decode.
func Explain(data []byte, p *dump.Printer) error {
	switch Sniff(data) {
	case FormPIR:
		explainPIR(data, p)
	case FormEarly:
		e := explainer{p: p}
		e.message(data, 0, (&EarlyProgramDesc{}).ProtoReflect().Descriptor())
	case FormDesc:
		e := explainer{p: p}
		e.message(data, 0, (&ProgramDesc{}).ProtoReflect().Descriptor())
	}
	if _, err := Decode(data); err != nil {
		return err
	}
	return p.Err()
}

// explainer walks over messages. It stops where the bytes are none of the schema; Decode says what is wrong there.
type explainer struct {
	p     *dump.Printer
	depth int
}

// field is one field of a message within its bytes.
type field struct {
	num  protowire.Number
	typ  protowire.Type
	fd   protoreflect.FieldDescriptor // nil: the schema does not know it
	at   int                          // where it begins
	body int                          // where its value begins, behind the length if it has one
	end  int
	lost uint64 // bytes of the value behind the end of all
}

// fieldAt is the field that begins there. Of a message that is cut it is what is left.
func fieldAt(data []byte, at int, md protoreflect.MessageDescriptor) (f field, ok bool) {
	num, typ, n := protowire.ConsumeTag(data[at:])
	if n < 0 {
		return f, false
	}
	f = field{num: num, typ: typ, fd: md.Fields().ByNumber(num), at: at, body: at + n}
	if typ == protowire.BytesType {
		size, n := protowire.ConsumeVarint(data[f.body:])
		if n < 0 {
			return f, false
		}
		f.body += n
		left := uint64(len(data) - f.body)
		f.end, f.lost = f.body+int(min(size, left)), size-min(size, left)
		return f, size <= left || f.message()
	}
	n = protowire.ConsumeFieldValue(num, typ, data[f.body:])
	f.end = f.body + n
	return f, n >= 0
}

// message reports whether the value is a message of the schema.
func (f *field) message() bool {
	return f.fd != nil && f.fd.Kind() == protoreflect.MessageKind && f.typ == protowire.BytesType
}

// message prints the fields of a message that begins at byte off of the file; ok is false if it ends before its bytes.
func (e *explainer) message(data []byte, off int64, md protoreflect.MessageDescriptor) (ok bool) {
	count := map[protowire.Number]int{}
	for at := 0; at < len(data); {
		f, ok := fieldAt(data, at, md)
		if !ok || e.p.Err() != nil {
			return false
		}
		i := count[f.num]
		count[f.num]++
		at = f.end
		if f.message() {
			e.p.Field(off+int64(f.at), data[f.at:f.body], "%s: %s", e.title(f, i), f.length())
			e.depth++
			ok = e.message(data[f.body:f.end], off+int64(f.body), f.fd.Message())
			e.depth--
			if !ok {
				return false
			}
			continue
		}
		if i >= shownValues && f.fd != nil {
			at = e.rest(data, off, f, md)
			continue
		}
		e.value(data, off, f, i)
	}
	return true
}

// rest leaves out the values of a list from f on, and says where they end.
func (e *explainer) rest(data []byte, off int64, f field, md protoreflect.MessageDescriptor) (end int) {
	n := 1
	for end = f.end; end < len(data); n++ {
		next, ok := fieldAt(data, end, md)
		if !ok || next.num != f.num {
			break
		}
		end = next.end
	}
	e.p.Gap(off+int64(f.at), int64(end-f.at), "%d more values of %s", n, f.fd.Name())
	return end
}

// length is the size of the value in words.
func (f *field) length() string {
	text := fmt.Sprintf("%d bytes", uint64(f.end-f.body)+f.lost)
	if f.lost > 0 {
		text += fmt.Sprintf(", of which %d are not there", f.lost)
	}
	return text
}

// title names a field, the i-th of its number, and its type.
func (e *explainer) title(f field, i int) string {
	title := strings.Repeat("  ", e.depth)
	if f.fd == nil {
		return fmt.Sprintf("%sfield %d, which the schema does not know", title, f.num)
	}
	title += string(f.fd.Name())
	if f.fd.IsList() && !f.packed() {
		title += "[" + strconv.Itoa(i) + "]"
	}
	switch f.fd.Kind() {
	case protoreflect.MessageKind:
		return title + " " + string(f.fd.Message().Name())
	case protoreflect.EnumKind:
		return title + " " + string(f.fd.Enum().Name())
	}
	return title + " " + f.fd.Kind().String()
}

// packed reports whether the field is a list of numbers in one value.
func (f *field) packed() bool {
	return f.fd != nil && f.fd.IsList() && f.typ == protowire.BytesType && wireType(f.fd.Kind()) != protowire.BytesType
}

// value prints a field that is no message.
func (e *explainer) value(data []byte, off int64, f field, i int) {
	raw, title := data[f.at:f.end], e.title(f, i)
	shown := raw[:min(len(raw), shownBytes)]
	e.p.Field(off+int64(f.at), shown, "%s", title+f.text(data[f.body:f.end]))
	if rest := len(raw) - len(shown); rest > 0 {
		e.p.Gap(off+int64(f.at+len(shown)), int64(rest), "more of it")
	}
}

// text is the value in words, with a colon before it; "" if the schema does not say what it is.
func (f *field) text(value []byte) string {
	switch {
	case f.fd == nil:
		return ""
	case f.packed():
		var words []string
		for len(value) > 0 && len(words) < shownValues {
			n := protowire.ConsumeFieldValue(f.num, wireType(f.fd.Kind()), value)
			if n < 0 {
				break
			}
			words, value = append(words, number(f.fd, value[:n])), value[n:]
		}
		if len(value) > 0 {
			words = append(words, "…")
		}
		return ": " + strings.Join(words, ", ")
	case f.typ != wireType(f.fd.Kind()):
		return fmt.Sprintf(": wire type %d, which is not its own", f.typ)
	case f.typ == protowire.BytesType:
		cut := min(len(value), shownBytes)
		for cut < len(value) && cut > 0 && !utf8.RuneStart(value[cut]) {
			cut--
		}
		text := ": " + strconv.Quote(string(value[:cut]))
		if cut < len(value) {
			text += "…"
		}
		return text
	}
	return ": " + number(f.fd, value)
}

// number is the text of a value of a field that is a number, a truth value or one of a list of names.
func number(fd protoreflect.FieldDescriptor, value []byte) string {
	switch fd.Kind() {
	case protoreflect.FloatKind:
		v, _ := protowire.ConsumeFixed32(value)
		return strconv.FormatFloat(float64(math.Float32frombits(v)), 'g', -1, 32)
	case protoreflect.DoubleKind:
		v, _ := protowire.ConsumeFixed64(value)
		return strconv.FormatFloat(math.Float64frombits(v), 'g', -1, 64)
	}
	v, _ := protowire.ConsumeVarint(value)
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return strconv.FormatBool(protowire.DecodeBool(v))
	case protoreflect.EnumKind:
		if known := fd.Enum().Values().ByNumber(protoreflect.EnumNumber(int32(v))); known != nil {
			return fmt.Sprintf("%d (%s)", int32(v), known.Name())
		}
		return fmt.Sprint(int32(v))
	case protoreflect.Int32Kind:
		return fmt.Sprint(int32(v))
	}
	return fmt.Sprint(int64(v))
}
