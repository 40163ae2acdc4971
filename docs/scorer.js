// Pages of the guide come before objects of the API; the other scores are those of Sphinx.
var Scorer = {
  score: ([page, , , , score]) => (page.startsWith("api/") ? score / 4 : score),
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
