function reference_batch(input, output)
% REFERENCE_BATCH  Run many cases of the four algorithms in one call.
%
%   REFERENCE_BATCH(input, output) reads the cell array cases from the .mat
%   file input and writes the cell array results to the -v7 .mat file output:
%   results{k} holds alpha after every iteration (s = 0: classical) or after
%   every window (s >= 1), one column each.
%
%   A case is a struct with the fields loss ('svm-l1', 'svm-l2' or 'krr'),
%   A, y, alpha, blocks (one row an iteration, from 1), s, parameter (C or
%   lambda) and kernel (see KERNEL_PANEL).

  loaded = load(input);
  results = cell(size(loaded.cases));
  for k = 1:numel(loaded.cases)
    c = loaded.cases{k};
    y = c.y(:);
    alpha = c.alpha(:);
    s = double(c.s);
    blocks = double(c.blocks);
    if strcmp(c.loss, 'krr') && s == 0
      [~, history] = bdcd_krr(c.A, y, alpha, blocks, c.parameter, c.kernel);
    elseif strcmp(c.loss, 'krr')
      [~, history] = sstep_bdcd_krr(c.A, y, alpha, blocks, s, c.parameter, c.kernel);
    elseif s == 0
      [~, history] = dcd_ksvm(c.A, y, alpha, blocks, c.loss, c.parameter, c.kernel);
    else
      [~, history] = sstep_dcd_ksvm(c.A, y, alpha, blocks, s, c.loss, c.parameter, c.kernel);
    end
    results{k} = history;
  end
  save(output, '-v7', 'results');
end
