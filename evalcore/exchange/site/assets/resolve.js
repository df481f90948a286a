// An address of the app on this site: the page of a target, or a board, by the app's parameters.
"use strict";

(() => {
  const { own, t, loadIndex, make, address, query } = site;

  function findBoard(index) {
    const asked = query(), month = asked.get("month") ?? "", publisher = asked.get("publisher") ?? "";
    const boards = index.boards.filter((board) => !asked.get("suite") || board.suite === asked.get("suite"));
    const wanted = asked.get("source") === "published" ? boards.filter((board) => board.published) : boards;
    return boards.find((board) => board.key === asked.get("board"))
      ?? wanted.find((board) => board.published && publisher + month && board.key.startsWith(`published-${publisher}`) && board.key.includes(month))
      ?? wanted[0];
  }

  async function build() {
    const index = await loadIndex(), key = query().get("key");
    if (key !== null) {
      const stem = own(index.targets, key);
      if (stem) location.replace(address(`targets/${stem}.html`));
      return [make("h1", {}, t("common.target")), make("p", { class: "notice" }, stem ? t("site.loading") : t("site.no_target"))];
    }
    const board = findBoard(index);
    location.replace(address(board ? `boards/${board.stem}.html` : "boards/index.html"));
    return [make("p", { class: "notice" }, t("site.loading"))];
  }

  site.show(build);
})();
