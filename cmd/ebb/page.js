// Shows the figures of a chart at the pointer, or where the arrow keys lead.
(function () {
  "use strict";
  var tip = document.getElementById("tip");

  function bytes(n) {
    var units = ["B", "KiB", "MiB", "GiB", "TiB"], i = 0;
    while (n >= 1024 && i < units.length - 1) { n /= 1024; i++; }
    return (i ? n.toFixed(2) : n) + " " + units[i];
  }

  document.querySelectorAll("svg[data-chart]").forEach(function (svg) {
    var chart = JSON.parse(document.getElementById(svg.dataset.chart).textContent);
    var cross = svg.querySelector(".cross"), at = -1;
    if (!chart || !chart.x.length) return;

    function hide() {
      tip.hidden = true;
      cross.setAttribute("visibility", "hidden");
    }

    function show(i) {
      at = i;
      cross.setAttribute("x1", chart.x[i]);
      cross.setAttribute("x2", chart.x[i]);
      cross.setAttribute("visibility", "visible");
      tip.textContent = "";
      var head = document.createElement("b");
      head.textContent = chart.head[i];
      tip.append(head);
      chart.names.forEach(function (name, k) {
        var value = chart.values[k][i];
        if (chart.unit === "B" && !value && chart.class[k] !== "anon") return;
        var row = document.createElement("div"), what = document.createElement("span"), number = document.createElement("span");
        var colour = document.createElement("i");
        colour.className = chart.class[k];
        what.append(colour, name);
        number.textContent = chart.unit === "B" ? bytes(value) : Number(value.toPrecision(6));
        row.append(what, number);
        tip.append(row);
      });
      tip.hidden = false;
      var box = svg.getBoundingClientRect(), scale = svg.getScreenCTM();
      var x = scale.e + chart.x[i] * scale.a, y = box.top + 90;
      var left = x + 16 + tip.offsetWidth > innerWidth ? x - 16 - tip.offsetWidth : x + 16;
      tip.style.left = Math.max(left, 4) + "px";
      tip.style.top = Math.min(Math.max(y, 8), innerHeight - tip.offsetHeight - 8) + "px";
    }

    svg.addEventListener("pointermove", function (e) {
      var scale = svg.getScreenCTM(), x = (e.clientX - scale.e) / scale.a;
      var low = 0, high = chart.x.length - 1;
      while (high - low > 1) {
        var mid = (low + high) >> 1;
        if (chart.x[mid] > x) high = mid; else low = mid;
      }
      show(Math.abs(chart.x[high] - x) < Math.abs(chart.x[low] - x) ? high : low);
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", function (e) {
      if (e.key === "ArrowRight") show(Math.min(at + 1, chart.x.length - 1));
      else if (e.key === "ArrowLeft") show(Math.max(at - 1, 0));
      else if (e.key === "Escape") hide();
      else return;
      e.preventDefault();
    });
  });
})();
