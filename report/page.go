package report

import "html/template"

// page is what all reports look like.
var page = template.Must(template.New("report").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Report.Title}}</title>
<style>
body { font-family: sans-serif; color: #222; background: #fff; max-width: 84rem; margin: 2rem auto; padding: 0 1rem; line-height: 1.4 }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem; border-bottom: 1px solid #ddd } p { max-width: 48rem }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; font-size: .9rem }
caption { text-align: left; font-weight: bold; padding: .3rem 0 }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #e4e4e4; text-align: right } th { background: #f4f4f4 }
th:first-child, td:first-child, .words td:last-child, .words th:last-child { text-align: left }
tr.mark td { background: #fff3cd; font-weight: bold }
dl { display: grid; grid-template-columns: max-content auto; gap: .2rem 1rem } dt { color: #666 } dd { margin: 0; overflow-wrap: anywhere }
.parts, .pictures { display: flex; flex-wrap: wrap; gap: 1rem 2rem; align-items: flex-start }
.pictures { flex: 1 1 30rem; min-width: 0 } .pictures > svg { flex: 1 1 26rem; min-width: 0; max-width: min(100%, 48rem); height: auto }
.scroll { flex: 0 1 auto; min-width: 0; max-width: 100%; overflow-x: auto }
@media (max-width: 40rem) {
body { margin: .5rem auto; padding: 0 .5rem } table { font-size: .75rem } th, td { padding: .2rem .3rem; overflow-wrap: anywhere }
.pictures, .pictures > svg { flex-basis: 100% }
}
</style>
</head>
<body>
<h1>{{.Report.Title}}</h1>
<dl>{{range .Report.Facts}}<dt>{{.Name}}</dt><dd>{{.Text}}</dd>
{{end}}</dl>
{{range $i, $s := .Sections}}<h2>{{.Title}}</h2>
{{with .Text}}<p>{{.}}</p>
{{end}}<div class="parts">{{with .Pictures}}<div class="pictures">{{range .}}{{.}}{{end}}</div>
{{end}}{{range .Tables}}<div class="scroll"><table{{if eq $i 0}} class="words"{{end}}>{{with .Title}}<caption>{{.}}</caption>{{end}}
<tr>{{range .Head}}<th>{{.}}</th>{{end}}</tr>
{{range .Rows}}<tr{{if .Mark}} class="mark"{{end}}>{{range .Cells}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table></div>
{{end}}</div>
{{end}}</body>
</html>
`))
